"""The MLIR dialects of this project. The dialect `rise` is in `rise`, which is to be read first."""

# ruff: noqa: E402

from riselang.support.lazy_dataclasses import compile_methods_lazily

# This must run before xDSL is imported.
compile_methods_lazily()

from riselang.dialects.xdsl_patches import (
    check_types_quickly,
    create_ops_quickly,
    insert_ops_quickly,
    parse_formats_lazily,
)

# This must run before the first dialect, ours or xDSL's, is loaded.
parse_formats_lazily()
create_ops_quickly()
insert_ops_quickly()
check_types_quickly()
