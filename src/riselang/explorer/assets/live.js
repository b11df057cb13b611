// A page served by `rise explore --serve` polls for a newer version, and reloads itself.

const LIVE = DATA.live;
if (LIVE) {
  const look = async () => {
    try {
      const answer = await (await fetch("version", { cache: "no-store" })).json();
      $("problem").hidden = !answer.error;
      $("problem").textContent = answer.error ?? "";
      if (answer.version !== LIVE && !answer.error) {
        location.reload();
        return;
      }
    } catch {
      $("problem").hidden = false;
      $("problem").textContent = "The server has stopped; this page is no longer updated.";
    }
    setTimeout(look, 600);
  };
  setTimeout(look, 600);
}
