//! The functions and classes that Python calls.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::links::{Merging, ResolvedLinks, merge};
use super::packed_links::PackedLinks;
use super::reader::read;
use super::urls::{Base, Target};
use super::walker::{Metadata, Walker};
use super::{Stop, cut};
use crate::border;

/// A page as read: metadata, packed text, and links, which `complete` completes.
#[pyclass(module = "gossamer_native")]
pub struct PageReading {
    metadata: Metadata,
    packed: Vec<u8>,
    base: String, // that hrefs are relative to
    links: ResolvedLinks,
}

/// The fields of `model.Links`, and the rows whose digest Python computes.
type Columns<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyString>,
    Bound<'py, PyString>,
    Bound<'py, PyString>,
    Vec<usize>,
);

#[pymethods]
impl PageReading {
    #[getter]
    fn title(&self) -> &str {
        &self.metadata.title
    }

    #[getter]
    fn description(&self) -> &str {
        &self.metadata.description
    }

    #[getter]
    fn language(&self) -> &str {
        &self.metadata.language
    }

    /// The URL that hrefs are relative to.
    #[getter]
    fn base(&self) -> &str {
        &self.base
    }

    /// Name and content of the other meta elements.
    #[getter]
    fn metas(&self) -> Vec<(&str, &str)> {
        self.metadata
            .robots
            .iter()
            .map(|(name, content)| (name.as_str(), content.as_str()))
            .collect()
    }

    /// All runs of text, in the form of the store.
    #[getter]
    fn packed_runs<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.packed)
    }

    /// The hrefs that need a URL parser.
    #[getter]
    fn unresolved(&self) -> Vec<&str> {
        self.links.unresolved.iter().map(|(_, href)| href.as_str()).collect()
    }

    /// Take the URLs of the unresolved hrefs; None: it has none.
    fn complete(&mut self, urls: Vec<Option<String>>) {
        self.links.complete(urls);
    }

    /// The target of the first `<link rel=canonical>` that has one, else "".
    #[getter]
    fn canonical(&self) -> &str {
        let mut urls = self.metadata.canonicals.iter().filter_map(|href| self.links.url(*href));
        urls.next().unwrap_or("")
    }

    /// Return the columns of the links.
    fn columns<'py>(&self, py: Python<'py>, nofollow: bool, keep_all: bool, has_rules: bool) -> PyResult<Columns<'py>> {
        let packed = border::run(py, || {
            let rows = merge(&self.links, Merging { nofollow, keep_all });
            PackedLinks::pack(&rows, &self.links.urls, has_rules)
        })?;
        Ok((
            PyBytes::new(py, &packed.digests),
            PyBytes::new(py, &packed.marks),
            PyString::new(py, &packed.urls),
            PyString::new(py, &packed.rels),
            PyString::new(py, &packed.anchors),
            packed.missing,
        ))
    }
}

/// Either a page as read, or the reason why only the sure way can read it.
#[derive(IntoPyObject)]
enum Reading {
    Page(Py<PageReading>),
    NotSure(&'static str),
}

/// Read a page in UTF-8. Without `keep_anchors`, links have no anchor text.
#[pyfunction]
fn read_page(
    py: Python<'_>,
    html: &[u8],
    url: &str,
    max_links: usize,
    keep_anchors: bool,
    work_limit: u64,
) -> PyResult<Reading> {
    let limit = border::WorkLimit::new(work_limit);
    match border::run(py, || {
        read_bytes(html, url, |page| Walker::new(page, url, max_links, keep_anchors), limit)
    })? {
        Ok(page) => Ok(Reading::Page(Py::new(py, page)?)),
        Err(Stop::NotSure(reason)) => Ok(Reading::NotSure(reason)),
        Err(Stop::WorkLimit) => Err(border::WorkLimitReached.into()),
    }
}

fn read_bytes<'a>(
    html: &'a [u8],
    url: &str,
    walker: impl Fn(&'a str) -> Walker<'a>,
    limit: border::WorkLimit,
) -> Result<PageReading, Stop> {
    let page = std::str::from_utf8(html).map_err(|_| Stop::NotSure("not UTF-8"))?;
    let (packed, found, metadata) = read(page, walker(page), limit)?.finish();
    let base = match &metadata.base {
        None => url.to_owned(),
        Some(href) => resolve_base(href, url)?,
    };
    let links = found.resolve(&base);
    Ok(PageReading {
        metadata,
        packed,
        base,
        links,
    })
}

/// Return the URL of a `<base>`; an invalid one is the page's own.
fn resolve_base(href: &str, url: &str) -> Result<String, Stop> {
    let plain = href.split('#').next().unwrap_or("");
    let target = Base::new(url)
        .filter(|_| !plain.ends_with(char::is_whitespace))
        .map(|base| base.resolve(plain));
    match target {
        Some(Target::Url(base)) => Ok(base),
        Some(Target::Nothing) => Ok(url.to_owned()),
        _ => Err(Stop::NotSure("an odd base")),
    }
}

/// Return where markup becomes too expensive for a tree; None: it is affordable.
#[pyfunction]
fn find_cut(py: Python<'_>, html: &[u8]) -> PyResult<Option<usize>> {
    border::run(py, || cut::find_cut(html))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PageReading>()?;
    module.add_function(wrap_pyfunction!(find_cut, module)?)?;
    module.add_function(wrap_pyfunction!(read_page, module)?)
}
