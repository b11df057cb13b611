"""gcc's command line: what is compiled or linked, and the flags for each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from riselang.support.errors import UserError

RISE_PREFIX = "-frise-"
"""The prefix of the flags that are not passed on."""
C_SUFFIX = ".c"
MAX_FILE_DEPTH = 100
"""The most files with words that may be nested."""
_WITH_VALUE = frozenset((
    "-o", "-I", "-D", "-U", "-L", "-l", "-x", "-include", "-imacros", "-isystem", "-iquote",
    "-idirafter", "-iprefix", "-iwithprefix", "-iwithprefixbefore", "-isysroot", "--sysroot", "-MF",
    "-MT", "-MQ", "-Xlinker", "-Xpreprocessor", "-Xassembler", "-T", "-u", "-z", "-e", "-B", "-A",
    "--param", "-target", "-arch", "-aux-info", "-dumpbase", "-dumpdir", "-dumpbase-ext", "-h",
    "-wrapper",
))  # fmt: skip
"""Flags whose value may be the next argument."""
_PREPROCESSOR = ("-I", "-D", "-U", "-A", "-include", "-imacros", "-i", "-Xpreprocessor", "-Wp,")
"""Prefixes of flags that only the preprocessor reads."""
_DEPENDENCIES = ("-M",)
_LINKER = ("-l", "-L", "-Wl,", "-Xlinker", "-T", "-u", "-z", "-h", "-static", "-shared",
           "-rdynamic", "-pie", "-no-pie", "-s", "-nostdlib", "-nodefaultlibs",
           "-nostartfiles")  # fmt: skip
"""Prefixes of flags that only the linker reads, except for those that begin as others do."""
_NOT_LINKER = ("-std", "-save-temps")
_OTHER_STEPS = ("-c", "-S", "-E", "-fsyntax-only", "-save-temps", "-pipe")
_MODES = {"-c": "compile", "-S": "other", "-E": "other", "-fsyntax-only": "other", "-M": "other",
          "-MM": "other", "-v": "other", "-###": "other", "--version": "other",
          "--help": "other", "-dumpversion": "other", "-dumpmachine": "other"}  # fmt: skip
OPTIONS = {
    "report": None, "float": ("strict", "contract"), "schedule": ("source", "isl"),
    "take": ("gains", "all"), "skip": None, "threads": None,
    "cmake-dir": None,
}  # fmt: skip
"""The flags that begin with `-frise-`, and their values."""


@dataclass(frozen=True)
class Argument:
    """A flag with its value, or an input."""

    words: tuple[str, ...]
    """The words, as they are passed on."""
    flag: str = ""
    """The flag; empty for an input."""
    value: str = ""

    @property
    def is_input(self) -> bool:
        return not self.flag

    def has_prefix(self, prefixes: Sequence[str]) -> bool:
        return self.flag.startswith(tuple(prefixes))


@dataclass(frozen=True)
class CommandLine:
    """A command line of gcc."""

    arguments: tuple[Argument, ...]
    rise_options: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> list[str]:
        """The command line without riselang's own flags."""
        return [word for argument in self.arguments for word in argument.words]

    @property
    def mode(self) -> str:
        """What the command does: compile, link, or other."""
        modes = {_MODES[each.flag] for each in self.arguments if each.flag in _MODES}
        if "other" in modes or any(each.flag.startswith("-print-") for each in self.arguments):
            return "other"
        return "compile" if modes else "link"

    @property
    def output(self) -> str | None:
        return next((each.value for each in reversed(self.arguments) if each.flag == "-o"), None)

    @property
    def inputs(self) -> list[str]:
        return [each.value for each in self.arguments if each.is_input]

    @property
    def sources(self) -> list[str]:
        """The C files: by their suffix, or by the flag `-x` before them."""
        found: list[str] = []
        language = "none"
        for each in self.arguments:
            if each.flag == "-x":
                language = each.value
            is_c = each.value.endswith(C_SUFFIX) if language == "none" else language == "c"
            if each.is_input and is_c:
                found.append(each.value)
        return found

    def option(self, name: str) -> str | None:
        """Return the last value of a flag that begins with `-frise-`."""
        return next((value for key, value in reversed(self.rise_options) if key == name), None)

    @property
    def compile_flags(self) -> list[str]:
        """The flags that compile one preprocessed file."""
        return list(self._flags(is_preprocessing=False))

    @property
    def preprocess_flags(self) -> list[str]:
        """The flags that preprocess and compile one file."""
        return list(self._flags(is_preprocessing=True))

    def _flags(self, *, is_preprocessing: bool) -> Iterator[str]:
        for each in self.arguments:
            is_linking = each.has_prefix(_LINKER) and not each.has_prefix(_NOT_LINKER)
            is_other = each.flag == "-o" or each.has_prefix(_DEPENDENCIES)
            is_other = is_other or each.flag == "-x" or each.flag in _OTHER_STEPS
            is_dropped = each.has_prefix(_PREPROCESSOR) and not is_preprocessing
            if not (each.is_input or is_linking or is_other or is_dropped):
                yield from each.words

    def with_objects(self, objects: dict[str, str]) -> list[str]:
        """Return the command line with object files in place of some of the C files; the files with
        dependencies are already written."""
        words: list[str] = []
        language = "none"
        for each in self.arguments:
            language = each.value if each.flag == "-x" else language
            if each.value in objects and each.is_input:
                path = objects[each.value]
                words += [path] if language == "none" else ["-x", "none", path, "-x", language]
            elif not each.has_prefix(_DEPENDENCIES):
                words += each.words
        return words

    def output_of(self, source: str) -> str:
        """Return the object file that `-c` writes for a C file."""
        return self.output or str(Path(Path(source).name).with_suffix(".o"))


def parse_command_line(words: Sequence[str], more_flags: Sequence[str] = ()) -> CommandLine:
    """Parse a command line; `more_flags` are riselang's flags from the environment."""
    arguments: list[Argument] = []
    options = [_parse_option(word) for word in more_flags]
    rest = iter(expand_files(words))
    for word in rest:
        if word.startswith(RISE_PREFIX):
            options.append(_parse_option(word))
        elif word in _WITH_VALUE:
            value = next(rest, None)
            words_of = (word,) if value is None else (word, value)
            arguments.append(Argument(words_of, word, value or ""))
        elif word.startswith("-") and word != "-":
            arguments.append(_split_joined(word))
        else:
            arguments.append(Argument((word,), value=word))
    return CommandLine(tuple(arguments), tuple(options))


def expand_files(words: Sequence[str]) -> list[str]:
    """Replace `@file` by the words in the file, as gcc does; a file that cannot be read is left."""
    expanded: list[str] = []
    stack = [(word, 0) for word in reversed(words)]
    while stack:
        word, depth = stack.pop()
        text = _read_words_file(word)
        if text is None or depth >= MAX_FILE_DEPTH:
            expanded.append(word)
        else:
            stack += [(inner, depth + 1) for inner in reversed(split_words(text))]
    return expanded


def _read_words_file(word: str) -> str | None:
    if not word.startswith("@"):
        return None
    try:
        return Path(word[1:]).read_text()
    except (OSError, UnicodeDecodeError):
        return None


def split_words(text: str) -> list[str]:
    """Split the words of a file: quotes enclose spaces, and a backslash quotes any character."""
    words: list[str] = []
    word: list[str] | None = None
    quote = ""
    characters = iter(text)
    for character in characters:
        if character == "\\":
            word = [*(word or []), next(characters, "")]
        elif quote:
            if character == quote:
                quote = ""
            else:
                word = [*(word or []), character]
        elif character in "'\"":
            quote, word = character, word or []
        elif character.isspace():
            if word is not None:
                words.append("".join(word))
            word = None
        else:
            word = [*(word or []), character]
    return words if word is None else [*words, "".join(word)]


def join_words(words: Sequence[str]) -> str:
    """Write words for a file that `split_words` reads."""
    return "\n".join(_quote(word) for word in words) + "\n"


def _quote(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _split_joined(word: str) -> Argument:
    """Split a flag with its value in one word, such as `-ofile`."""
    if word[:2] in ("-o", "-x") and word not in _WITH_VALUE:
        return Argument((word,), word[:2], word[2:])
    return Argument((word,), word)


def _parse_option(word: str) -> tuple[str, str]:
    name, _, value = word.removeprefix(RISE_PREFIX).partition("=")
    if not word.startswith(RISE_PREFIX) or name not in OPTIONS:
        known = ", ".join(f"{RISE_PREFIX}{each}" for each in OPTIONS)
        raise UserError(f"{word}: expected one of the flags {known}")
    choices = OPTIONS[name]
    if choices is not None and value not in choices:
        raise UserError(f"{word}: expected {RISE_PREFIX}{name}={'|'.join(choices)}")
    return name, value


_LEFT_TO_COMPILER = {
    "-fsanitize": "code with sanitizers", "-fwrapv": "code in which integers wrap around",
    "-ftrapv": "code in which overflow traps",
    "-fno-strict-overflow": "code in which integers wrap around",
    "-fprofile-": "code for profiles", "--coverage": "code for coverage",
    "-ftest-coverage": "code for coverage", "-pg": "code for profiles",
    "-finstrument-functions": "code for traces",
    "-frounding-math": "code that changes the rounding mode", "-fsignaling-nans": "signaling NaNs",
    "-m32": "code for another architecture", "-mx32": "code for another architecture",
    "-m16": "code for another architecture", "--target": "code for another architecture",
    "-target": "code for another architecture", "-arch": "code for another architecture",
    "-mfpmath=387": "x87 arithmetic", "-ffloat-store": "x87 arithmetic",
    "-fno-strict-aliasing": "objects with several types", "-fplugin": "code with plugins",
    "-O0": "code to debug", "-Og": "code to debug", "-Os": "short code", "-Oz": "short code",
    "-fopenacc": "OpenACC",
    "-mcmodel=": "code models", "-ffreestanding": "code without a C library",
    "-fno-builtin": "code with functions of its own in place of those of C",
}  # fmt: skip
"""Flags for which the system's compiler compiles everything, and what they ask for."""


def reason_to_pass(command: CommandLine) -> str:
    """Return why nothing of a command is for riselang; empty if something may be."""
    level = next((each.flag for each in reversed(command.arguments) if each.has_prefix(["-O"])), "")
    for each in command.arguments:
        if each.is_input and (each.value == "-" or each.value.startswith("@")):
            return f"{each.value} is not the name of a file"
        if each.flag == "-x" and each.value not in ("c", "none"):
            return f"-x {each.value} selects another language than C"
        for prefix, what in _LEFT_TO_COMPILER.items():
            is_level = prefix.startswith("-O")
            is_given = level == prefix if is_level else each.flag.startswith(prefix)
            if is_given:
                return f"{level if is_level else each.words[0]} asks for {what}"
    return ""
