"""Names that the command line uses, as :mod:`lazy_loader` finds them at run time."""

from .answer import page_without_server as page_without_server
from .course import own_lesson as own_lesson
from .declared import FIRST as FIRST
from .pages import standalone as standalone
from .scene_sources import named_scene as named_scene, url_of as url_of
from .server import bound_server as bound_server
from .static import check_static as check_static, write_static as write_static
from .table_scene import scene_of_file as scene_of_file
