"""In Markdown pages the first mention of a public name leads to its page of the reference."""

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

PACKAGE = "skstretch"
# Methods that mean one thing wherever they are named; `fit` may be a method or a command.
METHODS = {
    "StretchyRegressorCV": ("predict_interval", "permutation_test", "coef_std", "coef_covariance"),
    "StretchyClassifierCV": ("predict_proba",),
    "StretchyRegressor": ("partial_fit",),
}


def full_name(text):
    """The name that a word in code type stands for, as far as its form tells; empty if none."""
    word = text.removesuffix("()")
    for cls, methods in METHODS.items():
        if word in methods:
            return f"{PACKAGE}.{cls}.{word}"
    if word.startswith(f"{PACKAGE}."):
        return word
    return f"{PACKAGE}.{word}" if word[:1].isupper() and word.isidentifier() else ""


class LinkNames(SphinxPostTransform):
    """Puts a reference around a literal that names an object of the Python domain."""

    default_priority = 5

    def run(self, **kwargs):
        page = self.env.docname
        if not str(self.env.doc2path(page)).endswith(".md"):
            return  # the others say so by a role
        objects = self.env.get_domain("py").objects
        told = set()
        for literal in list(self.document.findall(nodes.literal)):
            name = full_name(literal.astext())
            entry = objects.get(name)
            if entry is None or name in told or not self.is_free(literal):
                continue
            told.add(name)
            address = self.app.builder.get_relative_uri(page, entry.docname)
            reference = nodes.reference("", "", internal=True, refuri=f"{address}#{entry.node_id}")
            literal.replace_self(reference)
            reference += literal

    @staticmethod
    def is_free(literal):
        """Whether nothing around it leads anywhere yet; titles stay as they are."""
        parent = literal.parent
        while parent is not None:
            if isinstance(parent, nodes.reference | nodes.title):
                return False
            parent = parent.parent
        return True


def setup(app):
    app.add_post_transform(LinkNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
