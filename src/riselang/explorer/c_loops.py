"""C loops that are not lifted to patterns: their source, and the stages of their code."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp

from riselang.dialects.location_attributes import file_location
from riselang.dialects.module import walk
from riselang.explorer.numbering import PARTS_FILE
from riselang.explorer.page_data import PageData, make_page_data
from riselang.explorer.source_locations import LocationTable
from riselang.explorer.stages import Stage, code_stages, module_lines
from riselang.explorer.subject import SourceText
from riselang.frontends.c.c_program import CProgram
from riselang.support.errors import SourceLocation


def explore_c_loops(program: CProgram, source: SourceText) -> PageData:
    """Return the data of a page for C regions without statements that are lifted to patterns."""
    locations = LocationTable(source)
    shown, linked = program.module, program.linked_module()
    for module in (shown, linked):
        _number_ops(module, locations)
    stages = [
        Stage("affine", "Affine", "mlir", "loops with loads and stores", module_lines(shown)),
        *code_stages(lambda: program.located_ir(linked)),
    ]
    reasons = program.text("report").rstrip("\n").split("\n")
    said = ["// No statement is lifted to patterns, so there is nothing to rewrite:", "//"]
    lines = [(text, ()) for text in (*said, *(f"// {reason}" for reason in reasons))]
    return make_page_data(
        title=", ".join(scop.name for scop in program.regions), source=source, locations=locations,
        options=program.options, strategy="none", stages=stages,
        parts=[["", number] for number in range(len(locations.numbers))],
        lines=lines, states=[[0, 0, list(range(len(lines))), None, None]],
        rules=[], steps=[],
    )  # fmt: skip


def _number_ops(module: ModuleOp, locations: LocationTable) -> None:
    """Replace the location of each op by the number of its source location, as for programs."""
    for op in walk(module):
        location = op.location
        if isinstance(location, FileLineColLoc):
            file, line, column = location.filename.data, location.line.data, location.column.data
            number = locations.at(SourceLocation(file, line, column))
            op.location = file_location(PARTS_FILE, number + 1, 1)
