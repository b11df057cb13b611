"""Normal forms, in which rules match more terms."""

from __future__ import annotations

from riselang.rewrite.combinators import Named, choice
from riselang.rewrite.rules.functions import beta, eta_expansion, eta_reduction, inline_free_let
from riselang.rewrite.traversals import normalize

data_flow_normal_form = Named("data_flow_normal_form", normalize(choice(beta, eta_expansion)))
"""There is no beta redex, and every function argument of a pattern is a lambda."""
beta_eta_normal_form = Named(
    "beta_eta_normal_form", normalize(choice(beta, eta_reduction, inline_free_let))
)
"""The shortest form: no eta redex, and no `let` that costs nothing to inline."""
