from . import datasets as datasets, textbook as textbook
