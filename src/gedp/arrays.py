"""The types of arrays that everything computes with."""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.int32]  # positions among the values or groups of a column
BoolArray = npt.NDArray[np.bool_]
