// A page that `rise explore --serve` gives looks for a newer one, and takes its place.

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
      $("problem").textContent = "The server is gone; this page stays as it is.";
    }
    setTimeout(look, 600);
  };
  setTimeout(look, 600);
}
