"""Normal forms: how terms are written for rules to find what they look for."""

from __future__ import annotations

from riselang.rewrite.combinators import Named, choice
from riselang.rewrite.rules.functions import beta, eta_expansion, eta_reduction, inline_free_let
from riselang.rewrite.traversals import normalize

data_flow_normal_form = Named("data_flow_normal_form", normalize(choice(beta, eta_expansion)))
"""No function is applied that stands there, and every function that a pattern takes is a lambda."""
beta_eta_normal_form = Named(
    "beta_eta_normal_form", normalize(choice(beta, eta_reduction, inline_free_let))
)
"""As little as there can be: no function that only passes its parameter on, no needless name."""
