"""How numba compiles a function that is only ever inlined: as far as its callers need it.

numba optimises such a function as a whole and makes machine code of it, which nobody calls: LLVM
optimises it again wherever it is inlined. Without both, a loop compiles in two thirds of the time,
to the same code.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import AnnotateTypes


class _Piece(JITCodeLibrary):
    """A function for other libraries to link, in LLVM's language only."""

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the memory that numba would write to comes with machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=False, analysis_only=True)
class _IntoPiece(LoweringPass):
    """Write the function to a :class:`_Piece`."""

    _name = "into_piece"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = _Piece(state.targetctx.codegen(), state.func_id.func_qualname)
        return True


class PieceCompiler(CompilerBase):
    """The steps numba takes for any function, which end in a :class:`_Piece`."""

    def define_pipelines(self) -> list[Any]:
        """Return the only pipeline."""
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.add_pass_after(_IntoPiece, AnnotateTypes)
        steps.finalize()
        return [steps]
