"""How P is stored: the only room that touches big data."""

from skstretch.designs.as_design import as_design as as_design
from skstretch.designs.as_design import checked_weights as checked_weights
from skstretch.designs.as_design import measure as measure
from skstretch.designs.as_design import rows_in_memory as rows_in_memory
from skstretch.designs.as_design import steps_read_again as steps_read_again
from skstretch.designs.as_design import storage_of as storage_of
from skstretch.designs.as_design import survey as survey
from skstretch.designs.as_design import tidy as tidy
from skstretch.designs.dask.array import DaskArray as DaskArray
from skstretch.designs.dask.array import DaskPlan as DaskPlan
from skstretch.designs.dask.array import check_known as check_known
from skstretch.designs.dask.array import computed_rows as computed_rows
from skstretch.designs.dask.array import dask_plan as dask_plan
from skstretch.designs.dask.design import WideDesign as WideDesign
from skstretch.designs.dask.lazy import lazily as lazily
from skstretch.designs.dask.lazy import lazy_outputs as lazy_outputs
from skstretch.designs.dual_space import dual_space as dual_space
from skstretch.designs.protocol import Design as Design
from skstretch.designs.protocol import Ready as Ready
from skstretch.designs.protocol import with_one_sum as with_one_sum
from skstretch.designs.source import Meter as Meter
from skstretch.designs.source import Source as Source
from skstretch.designs.source import check_finite as check_finite
from skstretch.designs.source import check_unmasked as check_unmasked
from skstretch.designs.source import is_dask as is_dask
from skstretch.designs.source import is_source as is_source
