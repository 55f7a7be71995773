"""The house rules: imports point down, files stay small, names say what they are, pure code does no I/O."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from radon.complexity import cc_visit

import plimsoll

SOURCE = Path(plimsoll.__file__).parent
ROWS = [
    {"errors"},
    {"messages", "patterns", "secrets", "installation"},
    {"models"},
    {"settings"},
    {"tools"},
    {"caching"},
    {"archive"},
    {"context"},
    {"dialects"},
    {"providers", "request_compaction"},
    {"agent"},
    {"sessions"},
    {"testing", "quality"},
    {"plugins", "config", "transcripts"},
    {"assembly", "bulk", "inspector"},
    {"gateway", "terminal", "integrations"},
]
ROW_OF = {name: row for row, names in enumerate(ROWS) for name in names}
# The same rule inside the large packages: rows of folders and files. A key may be a folder, "gateway/dropin".
INNER_ROWS = {
    "gateway": [
        {"asgi", "runtime_options", "client_lines"},
        {"http"},
        {"telemetry", "upstream"},
        {"access"},
        {"sessions", "dropin"},
        {"messaging", "inspector"},
        {"app"},
        {"serving"},
        {"__main__"},
    ],
    "context": [
        {"engine", "budget", "calibration", "rearm", "summarizer", "ledger", "media_budget"},
        {"markers", "report", "coverage"},
        {"gate"},
        {"compressor"},
        {"lcm"},
    ],
    "archive": [
        {"encoding", "owners", "inbox", "replies", "keys", "key_format", "titles"},
        {"records", "query"},
        {"ids", "outline", "snippet", "views"},
        {"interface", "view_change"},
        {"store", "blocking"},
        {"sql"},
        {"sqlite", "postgres"},
        {"open_archive"},
    ],
    "integrations": [
        {"archived_items", "canonical", "codec", "options", "overflow", "requirement", "wording"},
        {"tracked", "context_tools", "bedrock"},
        {"conversations", "host_view"},
        {"serving"},
        {"history"},
        {
            "agent_framework_messages",
            "langchain_messages",
            "sent_views",
            "inspect_ai_messages",
            "llama_index_messages",
            "pydantic_ai_messages",
            "smolagents_messages",
            "wire",
        },
        {
            "agent_framework",
            "claude_agent",
            "google_adk",
            "inspect_ai",
            "langchain",
            "litellm",
            "llama_index",
            "openai_agents",
            "openhands",
            "pydantic_ai",
            "smolagents",
            "strands",
        },
    ],
    "testing": [
        {"strategies", "prefix", "pressure", "scripted_server"},
        {"contract"},
    ],
}
NO_CODE = {"examples"}  # data only
PURE = {
    "errors",
    "messages",
    "settings",
    "secrets",
    "patterns",
    "models",
    "caching",
    "context",
    "dialects",
    "quality",
}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
IO_MODULES = {
    "asyncio", "http", "httpx", "os", "pathlib", "random", "requests", "shutil", "socket", "sqlite3", "subprocess",
    "tempfile", "threading", "time",
}  # fmt: skip
FILES = sorted(SOURCE.rglob("*.py"))
MAX_COMPLEXITY = 15


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_modules(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported anywhere in the file, functions and TYPE_CHECKING blocks included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import of {node.module}"
            module = node.module or ""
            yield module
            if module == "plimsoll":
                yield from (f"plimsoll.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            argument = node.args[0]
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument.value


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in FILES:
        yield path, ast.parse(path.read_text("utf-8"))


def test_every_package_has_its_row():
    packages = {package_of(path) for path in FILES} - {"__init__", "__main__"} - NO_CODE
    assert packages <= ROW_OF.keys()


def test_imports_point_down():
    wrong = []
    for path, tree in trees():
        package = package_of(path)
        if package in {"__init__", "__main__"}:
            continue
        for module in imported_modules(tree):
            parts = module.split(".")
            if parts[0] != "plimsoll" or len(parts) < 2 or parts[1] in {package, "__version__"}:
                continue
            if parts[1] not in NO_CODE and ROW_OF[parts[1]] >= ROW_OF[package]:
                wrong.append(f"{path.relative_to(SOURCE)} imports {module}")
    assert wrong == []


def inner_imports(package: Path) -> Iterator[tuple[str, str, str]]:
    """Which part of a package imports which other part of it, and where."""
    inside = ("plimsoll", *package.relative_to(SOURCE).parts)
    for path in sorted(package.rglob("*.py")):
        part = path.relative_to(package).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.ImportFrom | ast.Import):
                continue
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                parts = tuple(f"{module}.{alias.name}".strip(".").split("."))
                other = (
                    parts[len(inside)] if parts[: len(inside)] == inside and len(parts) > len(inside) else ""
                )
                is_part = (package / other).is_dir() or (package / f"{other}.py").exists()
                if other and is_part and part not in (other, "__init__"):
                    yield part, other, f"{path.relative_to(SOURCE)} imports {'.'.join(parts)}"


@pytest.mark.parametrize("package", INNER_ROWS)
def test_imports_inside_a_package_point_down(package):
    row_of = {name: row for row, names in enumerate(INNER_ROWS[package]) for name in names}
    found = list(inner_imports(SOURCE / package))
    parts = {
        path.name.removesuffix(".py") for path in (SOURCE / package).iterdir() if list(path.glob("*.py"))
    }
    parts |= {path.stem for path in (SOURCE / package).glob("*.py")} - {"__init__"}
    assert parts == row_of.keys()
    assert [where for part, other, where in found if row_of[other] >= row_of[part]] == []


def test_no_file_is_longer_than_400_lines():
    assert [path.name for path in FILES if len(path.read_text("utf-8").splitlines()) > 400] == []


def test_no_function_is_longer_than_60_lines():
    long = [
        f"{path.relative_to(SOURCE)}:{node.lineno} {node.name}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > 60
    ]
    assert long == []


def test_no_function_has_more_than_15_paths():
    """Cyclomatic complexity as `radon cc` counts it."""
    complex = [
        f"{path.relative_to(SOURCE)} {getattr(block, 'fullname', block.name)}"
        for path in FILES
        for block in cc_visit(path.read_text("utf-8"))
        if block.letter != "C" and block.complexity > MAX_COMPLEXITY
    ]
    assert complex == []


def test_each_class_name_is_defined_once():
    names = [node.name for _, tree in trees() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert {name for name in names if names.count(name) > 1} == set()


def test_no_module_is_called_utils():
    parts = {part.removesuffix(".py") for path in FILES for part in path.relative_to(SOURCE).parts}
    assert parts & FORBIDDEN_NAMES == set()


def test_pure_packages_do_no_io():
    wrong = []
    for path, tree in trees():
        if package_of(path) not in PURE:
            continue
        wrong += [
            f"{path.relative_to(SOURCE)} imports {module}"
            for module in imported_modules(tree)
            if module.split(".")[0] in IO_MODULES or module == "urllib.request"
        ]
        wrong += [
            f"{path.relative_to(SOURCE)}:{node.lineno} calls {node.func.id}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"open", "print", "input"}
        ]
    assert wrong == []


def test_every_source_folder_says_what_its_files_are():
    folders = {path.parent for path in FILES if path.parent != SOURCE and path.name != "__init__.py"}
    unlisted = []
    for folder in folders:
        readme = folder / "README.md"
        text = readme.read_text("utf-8") if readme.exists() else ""
        unlisted += [
            str(p.relative_to(SOURCE))
            for p in folder.glob("*.py")
            if p.name != "__init__.py" and p.name not in text
        ]
    assert sorted(unlisted) == [], "list these files in the README of their folder"


def test_public_names_are_exactly_these():
    assert sorted(plimsoll.__all__) == [
        "ContextCompressor",
        "ContextEngine",
        "Message",
        "Summarizer",
        "Violation",
        "__version__",
        "apply_anthropic_cache_control",
        "compact",
        "estimate_messages_tokens_rough",
        "register_context_engine",
        "repair",
        "validate",
    ]


def test_every_public_name_loads():
    for name in plimsoll.__all__:
        assert getattr(plimsoll, name) is not None


def test_an_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Compressor'"):
        _ = plimsoll.Compressor


def test_importing_the_package_loads_nothing_else():
    heavy = ("click", "rich", "pydantic", "plimsoll.")
    code = f"import sys, plimsoll; print([m for m in sys.modules if m.startswith({heavy!r})])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
