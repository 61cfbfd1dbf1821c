from . import textbook as textbook
