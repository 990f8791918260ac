//! A history in a bucket: an object for each run, under the path that a branch has for it, and never changed.
//!
//! A run's key follows from the run alone, and the server creates an object only where none is (`If-None-Match: *`). So of
//! several writers of one run one wins, and the others find its object. A writer whose answer was lost reads the key before
//! it writes again. Nothing needs an update, so that a writer that is killed leaves nothing unfinished but its mark.
//!
//! A mark of the index is an empty object, written after its run. One that is older than its run does not count: the run
//! was replaced by hand. A run without a mark is read instead.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{
    Error, ListResult, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutPayload, RetryConfig,
};
use tokio::runtime::{Builder, Runtime};

use super::entry::{HistoryEntry, MAX_BYTES};
use super::index::Mark;
use super::listed::{Appended, BesideFile, File, Listed};
use super::store_address::{BucketAddress, Cloud};
use super::{index, layout};
use crate::api::address::Sha;
use crate::api::response::root_cause;
use crate::api::sender::install_crypto;
use gbench_model::{Exit, Fault, Result, backoff, sha256_hex};

/// Requests that are under way at once when many objects are listed or read.
const AT_ONCE: usize = 32;

/// Times that an object is offered to a server that gives no answer, or one that decides nothing.
const ATTEMPTS: u32 = 8;

/// Before the second of them; each later one is twice as long.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) struct Bucket {
    address: BucketAddress,
    root: Path,
    /// Asks again after silence and server errors.
    reader: Arc<dyn ObjectStore>,
    /// Asks once: whether an object was written has to be found out before it is asked again.
    writer: Arc<dyn ObjectStore>,
    runtime: Runtime,
}

/// The end of an attempt to create an object.
enum Created {
    /// By this writer. With the entity tag, where the server names one.
    Now(Option<String>),
    /// It was there before.
    Before { bytes: Vec<u8>, tag: Option<String> },
}

impl Bucket {
    /// `variables`: credentials and settings by the names of the cloud's own programs. Errors: they do not fit together, or the
    /// machine's certificates cannot be used.
    pub(super) fn open(
        address: &BucketAddress,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Self> {
        install_crypto();
        let variables: Vec<_> = variables.collect();
        let store = |retry| connect(address, &variables, retry);
        let none = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        let stores = store(RetryConfig::default()).and_then(|reader| Ok((reader, store(none)?)));
        let (reader, writer) = stores.map_err(|error| {
            let what = format!("the bucket cannot be used: {}", said(&error));
            Fault::at(address.to_string(), what, address.cloud.advice())
        })?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Fault::defect(address.to_string(), error))?;
        let root = Path::from(address.prefix.as_str());
        Ok(Self { address: address.clone(), root, reader, writer, runtime })
    }

    /// The key of a path from the history's root.
    fn key(&self, path: &str) -> Path {
        self.root.parts().chain(Path::from(path).parts()).collect()
    }

    /// The path from the history's root.
    fn path_of(&self, key: &Path) -> String {
        let prefix = self.root.as_ref();
        let below = key.as_ref().strip_prefix(prefix).unwrap_or(key.as_ref());
        below.trim_start_matches('/').to_owned()
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T> {
        self.runtime.block_on(work).map_err(|error| self.fault(&error))
    }

    /// [`Bucket::wait`] for lists, whose errors do not tell a refusal from silence: reading a key shows it.
    fn wait_for_list<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T> {
        self.runtime.block_on(async {
            let error = match work.await {
                Err(error @ Error::Generic { .. }) => error,
                listed => return listed.map_err(|error| self.fault(&error)),
            };
            let shown = match self.writer.get(&self.key(layout::ROOT)).await {
                Err(shown @ (Error::PermissionDenied { .. } | Error::Unauthenticated { .. })) => shown,
                Err(Error::NotFound { .. }) => {
                    let what = format!("there is no such bucket, or it cannot be listed: {}", said(&error));
                    let place = self.address.to_string();
                    return Err(Fault::at(place, what, self.address.cloud.advice()).exits(Exit::Unpublished));
                }
                _ => error,
            };
            Err(self.fault(&shown))
        })
    }

    fn fault(&self, error: &Error) -> Fault {
        let (what, next) = match error {
            Error::PermissionDenied { .. } => (
                format!("the bucket refuses it: {}", said(error)),
                "give these credentials the rights that docs/history.md names, and check the machine's clock",
            ),
            Error::Unauthenticated { .. } => (
                format!("the bucket does not know the credentials: {}", said(error)),
                self.address.cloud.advice(),
            ),
            Error::NotFound { .. } => (
                "there is no such bucket, or it cannot be seen with these credentials".to_owned(),
                self.address.cloud.advice(),
            ),
            Error::NotImplemented { .. } | Error::NotSupported { .. } => (
                format!("objects cannot be created without replacing others: {}", said(error)),
                "take AWS_CONDITIONAL_PUT out of the environment, and use a server that knows `If-None-Match`",
            ),
            _ => (
                format!("the bucket cannot be read or written: {}", said(error)),
                "try again later; where it never works, check the address, the region and the endpoint",
            ),
        };
        Fault::at(self.address.to_string(), what, next).exits(Exit::Unpublished)
    }

    /// Creates an object where none is.
    async fn create(&self, path: &str, bytes: &[u8]) -> Result<Created, Error> {
        let key = self.key(path);
        let mut attempts = 0;
        let mut uncertain = false;
        loop {
            let put = self.writer.put_opts(&key, PutPayload::from(bytes.to_vec()), PutMode::Create.into());
            let error = match put.await {
                Ok(put) => return Ok(Created::Now(put.e_tag)),
                // Also where another writer is at work on the same key: then the object may still be missing.
                Err(error @ Error::AlreadyExists { .. }) => error,
                Err(error @ Error::Generic { .. }) => {
                    uncertain = true;
                    error
                }
                Err(error) => return Err(error),
            };
            match self.content(&key, MAX_BYTES).await {
                Ok((Some(there), tag)) if uncertain && there == bytes => return Ok(Created::Now(tag)),
                Ok((there, tag)) => return Ok(Created::Before { bytes: there.unwrap_or_default(), tag }),
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
            attempts += 1;
            if attempts == ATTEMPTS {
                return Err(error);
            }
            tokio::time::sleep(backoff::pause(PAUSE, attempts - 1)).await;
        }
    }

    /// The bytes of an object; `None`: they are more than `most`. With its entity tag.
    async fn content(&self, key: &Path, most: usize) -> Result<(Option<Vec<u8>>, Option<String>), Error> {
        let found = self.reader.get(key).await?;
        let tag = found.meta.e_tag.clone();
        if found.meta.size > most as u64 {
            return Ok((None, tag));
        }
        Ok((Some(found.bytes().await?.to_vec()), tag))
    }

    async fn folders(&self, path: &str) -> Result<Vec<String>, Error> {
        let ListResult { common_prefixes, .. } =
            self.reader.list_with_delimiter(Some(&self.key(path))).await?;
        Ok(common_prefixes.iter().map(|folder| self.path_of(folder)).collect())
    }

    /// The objects of the folders of each month, in one of the history's folders.
    async fn of_months(&self, path: &str) -> Result<Vec<ObjectMeta>, Error> {
        let is_month = |folder: &String| folder.rsplit('/').next().is_some_and(layout::is_folder);
        let months = self.folders(path).await?.into_iter().filter(is_month);
        // A list comes a thousand at a time, each part after the one before it: so one list for each month.
        let lists = months.map(|month| self.reader.list(Some(&self.key(&month))).try_collect::<Vec<_>>());
        let lists: Vec<Vec<ObjectMeta>> = stream::iter(lists).buffer_unordered(AT_ONCE).try_collect().await?;
        Ok(lists.into_iter().flatten().collect())
    }

    pub(super) fn is_there(&self) -> Result<bool> {
        let history = self.key(layout::ROOT);
        self.wait_for_list(async { Ok(self.reader.list(Some(&history)).try_next().await?.is_some()) })
    }

    pub(super) fn need(&self) -> Result<()> {
        if self.is_there()? {
            return Ok(());
        }
        let next = format!(
            "check the name; `gbench-ci publish --history {}` begins a history with the first run",
            self.address
        );
        Err(Fault::at(self.address.to_string(), "no history is kept here", next))
    }

    pub(super) fn list(&self) -> Result<Vec<Listed>> {
        let index = format!("{}/{}", layout::ROOT, layout::INDEX);
        let listed = async { futures_util::try_join!(self.of_months(layout::ROOT), self.of_months(&index)) };
        let (runs, marks) = self.wait_for_list(listed)?;
        let marked = |object: ObjectMeta| {
            let mark = index::mark_of(&self.path_of(&object.location))?;
            Some((mark.run_id.clone(), (object.last_modified, mark)))
        };
        let mut marks: HashMap<_, (_, Mark)> = marks.into_iter().filter_map(marked).collect();
        let listed = |object: ObjectMeta| {
            let path = self.path_of(&object.location);
            let run_id = layout::run_of_path(&path)?;
            let mark = marks.remove(&run_id).filter(|(marked, _)| *marked >= object.last_modified);
            let tag = object.e_tag.unwrap_or_else(|| format!("{} {}", object.last_modified, object.size));
            let blob: Sha = sha256_hex(tag.as_bytes()).parse().ok()?;
            Some(Listed { run_id, path, blob, size: Some(object.size), mark: mark.map(|(_, mark)| mark) })
        };
        Ok(runs.into_iter().filter_map(listed).collect())
    }

    /// Reads several runs at once, in their order. `Err` of one: why it is not a run. Errors: nothing can be read.
    pub(super) fn read_all(&self, listed: &[&Listed], most: usize) -> Result<Vec<Result<Vec<u8>, String>>> {
        let read = |listed: &&Listed| {
            let key = self.key(&listed.path);
            async move {
                match self.content(&key, most).await {
                    Ok((bytes, _)) => {
                        Ok(bytes.ok_or_else(|| format!("it is larger than {} MiB", most >> 20)))
                    }
                    Err(Error::NotFound { .. }) => Ok(Err("it is not there any more".to_owned())),
                    Err(error) => Err(error),
                }
            }
        };
        // Collected first: a stream of a closure's futures is not general enough for the compiler.
        let reads: Vec<_> = listed.iter().map(read).collect();
        self.wait(stream::iter(reads).buffered(AT_ONCE).try_collect())
    }

    pub(super) fn beside(&self, folder: &str, most: usize) -> Result<Vec<BesideFile>> {
        let folder = self.key(&format!("{}/{folder}", layout::ROOT));
        self.wait_for_list(async {
            let objects: Vec<ObjectMeta> = self.reader.list(Some(&folder)).try_collect().await?;
            let read = objects.iter().map(|object| async {
                let path = self.path_of(&object.location);
                let found = self.content(&object.location, most).await;
                found.map(|(bytes, _)| bytes.map(|bytes| BesideFile { path, bytes }))
            });
            let reads: Vec<_> = read.collect();
            let found: Vec<Option<BesideFile>> = stream::iter(reads).buffered(AT_ONCE).try_collect().await?;
            Ok(found.into_iter().flatten().collect())
        })
    }

    /// Adds a run. `same`: whether what is there under its name already is the same run.
    pub(super) fn append(&self, file: &File<'_>, same: &dyn Fn(&[u8]) -> bool) -> Result<Appended> {
        let path = layout::place(file.month, None, file.run);
        let created = self.wait(async {
            // Before the run, which names them.
            for beside in file.beside {
                self.create(&beside.path, &beside.bytes).await?;
            }
            self.create(&path, file.bytes).await
        })?;
        let (tag, already, mark) = match created {
            Created::Now(tag) => (tag, false, file.mark.to_owned()),
            Created::Before { bytes, .. } if !same(&bytes) => {
                let what = format!("{path} is there with another content");
                let next = "look at it; a run's object is written once and never changed";
                return Err(Fault::at(self.address.to_string(), what, next).exits(Exit::Unpublished));
            }
            Created::Before { bytes, tag } => {
                // Its writer may have been killed before the mark; and the mark is of the run that is there.
                let there = HistoryEntry::decode(&bytes).map(|there| index::name_of(&there));
                (tag, true, there.unwrap_or_else(|_| file.mark.to_owned()))
            }
        };
        self.wait(self.create(&index::place_of(&path, &mark), &[]))?;
        Ok(Appended { version: tag.unwrap_or_default(), path, already })
    }
}

impl Cloud {
    /// The beginning of the environment variables that its own programs read.
    fn variables(self) -> &'static str {
        match self {
            Self::S3 => "AWS_",
            Self::Google => "GOOGLE_",
            Self::Azure => "AZURE_",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::S3 => {
                "check the name, and AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and, for a server that is not Amazon's, AWS_ENDPOINT_URL"
            }
            Self::Google => "check the name, and GOOGLE_APPLICATION_CREDENTIALS",
            Self::Azure => {
                "check the name, and AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY or AZURE_CLIENT_ID"
            }
        }
    }
}

/// A store of the address's bucket. The address goes before a variable that names another bucket.
fn connect(
    address: &BucketAddress,
    variables: &[(String, String)],
    retry: RetryConfig,
) -> Result<Arc<dyn ObjectStore>, Error> {
    macro_rules! built {
        ($builder:ty) => {{
            let mut builder = <$builder>::default();
            for (name, value) in
                variables.iter().filter(|(name, _)| name.starts_with(address.cloud.variables()))
            {
                // Most variables of such a name are for other programs.
                if let Ok(key) = name.to_ascii_lowercase().parse() {
                    builder = builder.with_config(key, value);
                }
            }
            let url = format!("{}://{}", address.cloud.scheme(), address.bucket);
            Arc::new(builder.with_url(url).with_retry(retry).build()?)
        }};
    }
    Ok(match address.cloud {
        Cloud::S3 => built!(AmazonS3Builder),
        Cloud::Google => built!(GoogleCloudStorageBuilder),
        Cloud::Azure => built!(MicrosoftAzureBuilder),
    })
}

/// The cause, on one line and short: a server may answer with a page.
fn said(error: &Error) -> String {
    let text = root_cause(error);
    let line: Vec<&str> = text.split_whitespace().collect();
    line.join(" ").chars().take(300).collect()
}
