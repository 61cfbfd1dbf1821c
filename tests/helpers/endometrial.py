"""Histology grade and risk factors of 79 women with endometrial cancer.

G. Heinze and M. Schemper, A solution to the problem of separation in logistic regression,
Statistics in Medicine 21 (2002). Neovascularization is always of high grade, so its
coefficient has no finite estimate. R's detectseparation and brglm2 carry the data
and publish the numbers below.
"""

import numpy as np

#: pulsatility index, endometrium height in hundredths; of low grade, then of high grade without and
#: with neovascularization
LOW = """
13 164 16 226 8 314 34 268 20 128 5 231 17 180 10 168 26 156 17 231 8 201 7 189 20 315 10
123 18 127 16 176 18 200 28 150 11 133 19 237 10 182 10 313 18 131 14 192 21 164 11 201 17
188 25 193 16 211 19 129 15 172 33 75 24 192 29 202 15 229 12 233 3 290 20 170 23 141 12
225 22 154 42 197 15 175 13 216 14 257 19 137 12 361 13 204 10 217
"""
HIGH = """
8 264 29 88 12 127 20 137 7 97 48 184 12 111 19 161 2 118 21 119 15 106 12 169 6 184 5 130
17 96 5 35 33 85
"""
NEW = """
38 97 22 114 7 88 25 91 15 58 22 144 40 118 5 93 0 117 49 27 11 101 21 98 19 102
"""


def _rows(text, mark):
    pairs = np.array(text.split(), dtype=float).reshape(-1, 2)
    return np.column_stack([np.full(len(pairs), float(mark)), pairs[:, 0], pairs[:, 1] / 100])


#: neovascularization, pulsatility index, endometrium height; 1 for a high grade
X = np.concatenate([_rows(LOW, 0), _rows(HIGH, 0), _rows(NEW, 1)])
y = np.repeat([0, 1], [len(LOW.split()) // 2, len(X) - len(LOW.split()) // 2])
#: the finite maximum likelihood estimates and standard errors as R prints them: PI, EH, intercept
ESTIMATES, ERRORS = (-0.0422, -2.9026, 4.3045), (0.0443, 0.8456, 1.6373)
