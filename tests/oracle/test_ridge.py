"""Ridge regression beside exact fractions, scikit-learn, and rows that stand for the penalty."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from storages import assert_refused  # noqa: F401

from linsep import LinearRegression, load, save
from linsep.sources.arrays import ArraySource
