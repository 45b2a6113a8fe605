"""The error tree: faults. Expected outcomes are values, see `gossamer.model.Outcome`.

GossamerError            one clear sentence for the user, exit code 2
├── UsageError           the request is invalid: a wrong URL, a bad pattern
│   └── SettingsError    a settings file, variable or flag has an unknown key or a wrong value
├── StoreError           the store cannot be used
│   ├── StoreMissing     no web exists at that location
│   ├── StoreTooNew      a newer version of Gossamer wrote the store
│   ├── StoreCorrupt     the store is damaged, or not a Gossamer web
│   ├── StoreNotWritable no permission, or a read-only file system
│   ├── StoreFull        no disk space is left; nothing of the batch was written
│   ├── StoreBusy        another process held the write lock for too long
│   └── StoreUnreachable the database server does not answer, or refuses the connection
├── IndexFault           the index cannot be used
│   ├── IndexMissing     no index exists, or one of another version: run `gossamer index`
│   ├── IndexBusy        another process is writing the index
│   ├── IndexBroken      the index writer failed; uncommitted documents must be put again
│   ├── IndexUnreachable the cluster does not answer, or cannot answer now
│   ├── IndexRefused     the cluster refuses the user, or asks for one
│   └── IndexFull        no disk space is left for the index
├── SeedUnreachable      none of the given seeds could be visited
├── CrawlerLost          a crawler sent no heartbeat for too long, and others took over its work
└── ParserFault          parser processes cannot be started
"""


class GossamerError(Exception):
    """A fault; its message is one sentence, with the next step if there is one."""


class UsageError(GossamerError):
    """The request is invalid."""


class SettingsError(UsageError):
    """A settings file, environment variable or flag is wrong."""


class StoreError(GossamerError):
    """The store cannot be used."""


class StoreMissing(StoreError):
    """No web exists at that location."""


class StoreTooNew(StoreError):
    """A newer version of Gossamer wrote the store."""


class StoreCorrupt(StoreError):
    """The store is damaged, or not a Gossamer web."""


class StoreNotWritable(StoreError):
    """The store's directory cannot be written to."""


class StoreFull(StoreError):
    """No disk space is left; nothing of the batch was written."""


class StoreBusy(StoreError):
    """Another process held the write lock for too long."""


class StoreUnreachable(StoreError):
    """The database server does not answer, or refuses the connection."""


class IndexFault(GossamerError):
    """The index cannot be used."""


class IndexMissing(IndexFault):
    """No index exists, or one of another version."""


class IndexBusy(IndexFault):
    """Another process is writing the index."""


class IndexBroken(IndexFault):
    """The index writer failed; uncommitted documents must be put again."""


class IndexUnreachable(IndexFault):
    """The cluster that holds the index does not answer, or cannot answer now."""


class IndexRefused(IndexFault):
    """The cluster that holds the index refuses the user, or asks for one."""


class IndexFull(IndexFault):
    """No disk space is left for the index; uncommitted documents must be put again."""


class SeedUnreachable(GossamerError):
    """None of the given seeds could be visited."""


class CrawlerLost(GossamerError):
    """A crawler sent no heartbeat for too long, and others took over its work."""


class ParserFault(GossamerError):
    """Parser processes cannot be started."""


class RendererFault(GossamerError):
    """Browsers cannot be started, or not isolated."""
