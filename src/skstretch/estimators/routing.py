"""What of ``fit``'s keywords goes to the splitter."""

from typing import Any

from sklearn import get_config
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)


def route(estimator: Any, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Keywords for ``splitter.split``: by metadata routing where enabled, else groups alone."""
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(estimator, "fit", sample_weight=sample_weight, **params)
        return dict(routed.splitter.split)
    unknown = sorted(set(params) - {"groups"})
    if unknown:
        raise TypeError(f"fit() got an unexpected keyword {unknown[0]!r}; groups is the only one.")
    return {name: value for name, value in params.items() if value is not None}


class Routing:
    """Declares the splitter, so that groups find their way through pipelines and searches."""

    cv: Any

    def get_metadata_routing(self) -> MetadataRouter:
        """The routing of metadata of this object."""
        mapping = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=check_cv(self.cv), method_mapping=mapping)
        )
