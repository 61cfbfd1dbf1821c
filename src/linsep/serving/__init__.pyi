from .limits import Limits as Limits
from .server import Server as Server
