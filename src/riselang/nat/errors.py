"""Errors of operations on naturals."""


class NatError(ValueError):
    """An operation on naturals that is undefined or exceeds the supported range."""


class NatSyntaxError(NatError):
    """Text that is not a natural; `position` is the character offset of the error."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position

    def __reduce__(self) -> tuple[type["NatSyntaxError"], tuple[str, int]]:
        return type(self), (str(self), self.position)
