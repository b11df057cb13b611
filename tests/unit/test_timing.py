"""Where the time goes: spans, their tree, and that nothing is kept where nobody asks."""

from __future__ import annotations

import threading
from contextvars import copy_context

from riselang.support.profiling import (
    Span,
    add_time,
    format_spans,
    is_recording,
    record_spans,
    time_span,
)


def test_spans_of_one_name_are_added() -> None:
    with record_spans("all") as root:
        for _ in range(3):
            with time_span("outer"), time_span("inner"):
                pass
        with time_span("other"):
            pass
    assert list(root.children) == ["outer", "other"]
    outer = root.children["outer"]
    assert list(outer.children) == ["inner"]
    assert 0 < outer.children["inner"].seconds < outer.seconds < root.seconds


def test_nothing_is_made_where_nobody_asks() -> None:
    assert not is_recording()
    assert time_span("one") is time_span("another")
    add_time("one", 1.0)
    with record_spans("all") as root:
        assert is_recording()
    assert root.children == {}


def test_a_failure_ends_its_spans() -> None:
    with record_spans("all") as root:
        try:
            with time_span("fails"):
                raise ValueError
        except ValueError:
            pass
        with time_span("afterwards"):
            pass
    assert list(root.children) == ["fails", "afterwards"]


def test_a_thread_records_for_itself() -> None:
    def work() -> None:
        with time_span("elsewhere"):
            pass

    with record_spans("all") as root:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert root.children == {}


def test_threads_in_a_copied_context_lose_no_time() -> None:
    with record_spans("all") as root:
        contexts = [copy_context() for _ in range(8)]
        threads = [threading.Thread(target=context.run, args=(_add_often,)) for context in contexts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert root.children["part"].seconds == 8 * 500


def _add_often() -> None:
    for _ in range(500):
        add_time("part", 1.0)


def test_the_tree_shows_what_has_no_name() -> None:
    inner = Span("passes", 0.3, {"convert": Span("convert", 0.3)})
    root = Span("rise", 1.0, {"read": Span("read", 0.5), "passes": inner})
    assert format_spans(root) == (
        "rise             1000.00 ms  100.0%\n"
        "├─ read           500.00 ms   50.0%\n"
        "├─ passes         300.00 ms   30.0%\n"
        "│  └─ convert     300.00 ms   30.0%\n"
        "└─ (other)        200.00 ms   20.0%\n"
    )  # fmt: skip
