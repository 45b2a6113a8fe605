"""The error tree: faults, as opposed to expected outcomes (those are values, see `gossamer.model.Outcome`).

GossamerError            one clear sentence for the user, exit code 2
├── UsageError           what was asked for makes no sense: a wrong URL, a bad pattern
│   └── SettingsError    a settings file, variable or flag with an unknown key or a wrong value
├── StoreError           the store cannot be used
│   ├── StoreMissing     there is no web at that place
│   ├── StoreTooNew      written by a newer version of Gossamer
│   ├── StoreCorrupt     damaged or not a Gossamer web at all
│   ├── StoreNotWritable no permission, read-only file system
│   ├── StoreFull        no disk space left; nothing of the batch was written
│   ├── StoreBusy        another process holds the write lock for too long
│   └── StoreUnreachable the database server does not answer, or lets nobody in
├── IndexFault           the index cannot be used
│   ├── IndexMissing     there is none yet, or one of another version: `gossamer index` makes it
│   ├── IndexBusy        another process is writing it
│   ├── IndexBroken      its writer broke; what was not committed must be put again
│   ├── IndexUnreachable the cluster that holds it does not answer, or not now
│   ├── IndexRefused     the cluster lets nobody in, or not this user
│   └── IndexFull        no disk space is left for it
├── SeedUnreachable      none of the seeds given could be visited
├── CrawlerLost          a crawler was not heard of for too long, and others took its work over
└── ParserFault          parser processes cannot be started at all
"""


class GossamerError(Exception):
    """A fault told in one sentence, with the next step where there is one."""


class UsageError(GossamerError):
    """What was asked for makes no sense."""


class SettingsError(UsageError):
    """A settings file, environment variable or flag is wrong."""


class StoreError(GossamerError):
    """The store cannot be used."""


class StoreMissing(StoreError):
    """There is no web at that place."""


class StoreTooNew(StoreError):
    """The store was written by a newer version of Gossamer."""


class StoreCorrupt(StoreError):
    """The store is damaged, or not a Gossamer web."""


class StoreNotWritable(StoreError):
    """The store's directory cannot be written to."""


class StoreFull(StoreError):
    """No disk space left; nothing of the batch was written."""


class StoreBusy(StoreError):
    """Another process held the write lock for too long."""


class StoreUnreachable(StoreError):
    """The database server does not answer, or lets nobody in."""


class IndexFault(GossamerError):
    """The index cannot be used."""


class IndexMissing(IndexFault):
    """There is no index yet, or one of another version."""


class IndexBusy(IndexFault):
    """Another process is writing the index."""


class IndexBroken(IndexFault):
    """The index writer broke; what was not committed must be put again."""


class IndexUnreachable(IndexFault):
    """The cluster that holds the index does not answer, or not now."""


class IndexRefused(IndexFault):
    """The cluster that holds the index lets nobody in, or not this user."""


class IndexFull(IndexFault):
    """No disk space is left for the index; what was not committed must be put again."""


class SeedUnreachable(GossamerError):
    """None of the seeds given could be visited."""


class CrawlerLost(GossamerError):
    """A crawler was not heard of for too long, and others took its work over."""


class ParserFault(GossamerError):
    """Parser processes cannot be started."""
