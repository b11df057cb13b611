"""The faults to plant stand in the sources as they are written down."""

from pathlib import Path

import pytest
from planted import FAULTS, Fault
from planted_c import C_FAULTS

SOURCES = Path(__file__).parents[2] / "src" / "riselang"


@pytest.mark.parametrize("fault", [*FAULTS, *C_FAULTS], ids=lambda fault: fault.name)
def test_the_text_of_a_fault_occurs_once(fault: Fault) -> None:
    assert (SOURCES / fault.folder / fault.file).read_text().count(fault.right) == 1
    assert fault.right != fault.wrong


def test_there_are_many() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 30
    assert len({fault.name for fault in C_FAULTS}) == len(C_FAULTS) >= 20
