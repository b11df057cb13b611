"""The faults to plant stand in the sources as they are written down."""

from pathlib import Path

import pytest
from planted import FAULTS, Fault

LOWERING = Path(__file__).parents[2] / "src" / "riselang" / "lowering"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_text_of_a_fault_occurs_once(fault: Fault) -> None:
    assert (LOWERING / fault.file).read_text().count(fault.right) == 1
    assert fault.right != fault.wrong


def test_there_are_many() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 30
