"""What all tests share: where the shared data are, and hypothesis without a clock."""

from pathlib import Path

import pytest
from hypothesis import settings

from linsep.compiled.core.jit import COMPILING

# The first example of a test may have to compile what it tests.
settings.register_profile("linsep", deadline=None)
settings.load_profile("linsep")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


#: Nothing that these test is compiled, or only what others test, too, so without the compiler they
#: would be the same again; and commands and documents are for people who have it.
ONCE = {
    "test_architecture", "test_assumptions", "test_baseline", "test_blanks", "test_bounds",
    "test_certificate", "test_cli", "test_cli_faults", "test_cli_manners", "test_cli_proofs",
    "test_code_cache", "test_descent", "test_escapes", "test_exact_decisions",
    "test_exact_squares", "test_firth",
    "test_format_1", "test_formats", "test_hostile_files", "test_interrupted_regressions",
    "test_interrupts",
    "test_later", "test_learners_cli", "test_least_squares", "test_limits",
    "test_linear_regression", "test_logistic_checks", "test_margins", "test_model_file",
    "test_naive_bayes", "test_overflow", "test_private", "test_progress", "test_proofs",
    "test_readme",
    "test_regression_files",
    "test_regressions_cli", "test_scale", "test_scratch", "test_separation",
    "test_sklearn", "test_sparse_rows", "test_streamed_verdicts", "test_summary", "test_tables",
    "test_tables_bad",
    "test_tampering", "test_textbook", "test_time_limit", "test_textbook_input", "test_words",
}  # fmt: skip


#: These would have much compiled for them, and nothing that others do not compile and test, too.
UNCOMPILED = {
    "test_repeated_rows",
    "test_stream_faults",
    "test_trace",
    "test_weights",
}


def pytest_collection_modifyitems(config, items):
    """Leave out what is tested with the compiler only, or without it only."""
    elsewhere = UNCOMPILED if COMPILING else ONCE
    same = [item for item in items if item.path.stem in elsewhere]
    items[:] = [item for item in items if item.path.stem not in elsewhere]
    config.hook.pytest_deselected(items=same)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real data sets beside the checkout; tests that need it are skipped without."""
    if not SHARED_DATA.is_dir():
        pytest.skip("skipped: no shared data")
    return SHARED_DATA
