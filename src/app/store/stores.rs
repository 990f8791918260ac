//! The stores of a request: a folder of baselines, or the history on a branch or in a bucket.

use std::cell::{OnceCell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;

use crate::app::github::client::client_for;
use crate::app::paths::{current_folder, project_root, shown};
use crate::compare::{History as Past, LandedDecision, Policy, SCHEMA_ACCEPTED, one_session};
use crate::github::Client;
use crate::history::{Address, HistoryBranch, HistoryEntry, Listed};
use crate::model::{BaselineName, Exit, Fault, Result, RunRecord};
use crate::store::{Store, read_record};
use crate::suite::{RunOptions, Source, Suite};

/// Runs that are looked through for the newest of a name.
const MAX_SEARCHED: usize = 30;

/// The stores that one command uses. Each is opened once, and what was read of it stays.
pub(crate) struct Stores<'a> {
    flag: Option<&'a str>,
    opened: RefCell<Vec<(String, PathBuf, Rc<Stored>)>>,
}

pub(crate) enum Stored {
    Folder(Store),
    Branch(Box<Branch>),
}

pub(crate) struct Branch {
    address: Address,
    folder: PathBuf,
    client: Option<Client>,
    /// Oldest first.
    listed: OnceCell<Vec<Listed>>,
    /// By the names that were looked up.
    found: RefCell<Vec<(String, Option<Rc<HistoryEntry>>)>>,
}

pub(crate) enum Found {
    Path(PathBuf),
    Run(Rc<HistoryEntry>),
}

impl Found {
    pub(crate) fn read(&self) -> Result<RunRecord> {
        match self {
            Self::Path(path) => read_record(path),
            Self::Run(entry) => Ok(entry.record.clone()),
        }
    }

    /// A name of this record that no newer one can take: its path, or the run's id.
    pub(crate) fn place(&self) -> PathBuf {
        match self {
            Self::Path(path) => path.clone(),
            Self::Run(entry) => entry.run_id.as_str().into(),
        }
    }
}

/// An address of `--history`. Errors: it is not an address, or a folder's.
pub(crate) fn history_of(text: &str) -> Result<Address> {
    let fault = |what: &str| Fault::at_flag(format!("--history {text}"), what, Address::HISTORIES);
    match text.parse() {
        Ok(Address::Dir(_)) => Err(fault("a history is a branch or in a bucket, and this is a folder")),
        Ok(address) => Ok(address),
        Err(what) => Err(fault(&what)),
    }
}

/// The address of a store. Errors: it is not an address.
pub(crate) fn store_of(text: &str) -> Result<Address> {
    text.parse().map_err(|what: String| Fault::at(format!("store `{text}`"), what, Address::FORMS))
}

/// A baseline's name. Errors: what cannot be one.
pub(crate) fn name_of(text: &str) -> Result<BaselineName> {
    text.parse().map_err(|what| Fault::at("the baseline's name", what, "choose a name such as main or v1.2"))
}

/// The store that a flag names, else the suite's, as an address and the folder that it counts from.
fn address_of<'a>(suite: &'a Suite, flag: Option<&'a str>) -> Result<(&'a str, Address, PathBuf)> {
    let (text, folder) = match flag {
        Some(text) => (text, current_folder()?),
        None => (suite.run.store.value.as_str(), project_root(suite)?),
    };
    Ok((text, store_of(text)?, folder))
}

/// The folder for what is not a record: trees, calibrations. Where the store is a branch it is the usual one.
pub(crate) fn folder_of(suite: &Suite, flag: Option<&str>) -> Result<Store> {
    let keep = suite.run.keep.value;
    match address_of(suite, flag)? {
        (text, Address::Dir(_), folder) => Store::open(text, &folder, keep),
        _ => Store::open(&RunOptions::default().store.value, &project_root(suite)?, keep),
    }
}

impl<'a> Stores<'a> {
    pub(crate) fn new(flag: Option<&'a str>) -> Self {
        Self { flag, opened: RefCell::default() }
    }

    /// The store of a suite, or the one that the flag names; relative paths count from the suite's folder, those of a
    /// flag from the current one. Without a suite, the built-in one's.
    pub(crate) fn of(&self, suite: Option<&Suite>) -> Result<Rc<Stored>> {
        let builtin = Suite::new("micro", Source::Builtin, Vec::new());
        let suite = suite.unwrap_or(&builtin);
        let (text, address, folder) = address_of(suite, self.flag)?;
        let is_it = |(known, from, _): &&(String, PathBuf, _)| *known == text && *from == folder;
        if let Some((.., stored)) = self.opened.borrow().iter().find(is_it) {
            return Ok(stored.clone());
        }
        let stored = Rc::new(match address {
            Address::Dir(_) => Stored::Folder(Store::open(text, &folder, suite.run.keep.value)?),
            address => Stored::Branch(Box::new(Branch::open(address, folder.clone())?)),
        });
        self.opened.borrow_mut().push((text.to_owned(), folder, stored.clone()));
        Ok(stored)
    }
}

impl Stored {
    /// Where the newest record of a name is, if there is one. Errors: a history that cannot be read.
    pub(crate) fn find(&self, name: &str) -> Result<Option<Found>> {
        match self {
            Self::Folder(store) => match name.parse() {
                Ok(name) if store.has(&name) => Ok(Some(Found::Path(store.newest(&name)?))),
                _ => Ok(None),
            },
            Self::Branch(branch) => Ok(branch.find(name)?.map(Found::Run)),
        }
    }

    /// The names that have a record; of a history none, since a run there has many.
    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            Self::Folder(store) => store.names(),
            Self::Branch(_) => Vec::new(),
        }
    }

    /// The fault where [`Stored::find`] finds nothing.
    pub(crate) fn missing(&self, name: &str) -> Fault {
        match self {
            Self::Folder(store) => match name_of(name).and_then(|name| store.newest(&name)) {
                Err(fault) => fault,
                // Saved this moment.
                Ok(path) => Fault::at_path(path, "the baseline was not there a moment ago", "try again"),
            },
            Self::Branch(branch) => branch.missing(name),
        }
    }
}

impl Branch {
    fn open(address: Address, folder: PathBuf) -> Result<Self> {
        let client = client_for(&address)?;
        let branch = Self { address, folder, client, listed: OnceCell::new(), found: RefCell::default() };
        branch.history()?;
        Ok(branch)
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) fn history(&self) -> Result<HistoryBranch<'_>> {
        HistoryBranch::open(&self.address, &self.folder, self.client.as_ref())
    }

    /// Errors: the branch is not there, or was made for something else.
    pub(crate) fn need(&self) -> Result<()> {
        self.history()?.need()
    }

    /// The accepted rows that the history keeps, the oldest first, and the files of it that cannot be read. Errors: GitHub or
    /// the disk.
    pub(crate) fn accepted(&self) -> Result<(Vec<LandedDecision>, Vec<String>)> {
        let (mut decisions, mut warnings) = (Vec::new(), Vec::new());
        for file in self.history()?.accepted()? {
            match serde_json::from_slice::<LandedDecision>(&file.bytes) {
                Ok(decision) if decision.schema == SCHEMA_ACCEPTED => decisions.push(decision),
                Ok(_) => warnings.push(format!("{} is of another version", file.path)),
                Err(error) => warnings.push(format!("{} cannot be read: {error}", file.path)),
            }
        }
        decisions.sort_by(|one, other| one.decision.at.cmp(&other.decision.at));
        Ok((decisions, warnings))
    }

    pub(crate) fn listed(&self) -> Result<&[Listed]> {
        if self.listed.get().is_none() {
            let _ = self.listed.set(self.history()?.list()?);
        }
        Ok(self.listed.get().map_or(&[], Vec::as_slice))
    }

    /// Shows the newest [`HistoryBranch::RECENT`] runs one after the other, oldest first, and gives warnings of files that
    /// are not a run or were left out. Errors: GitHub or the disk.
    pub(crate) fn each(&self, mut show: impl FnMut(&Listed, HistoryEntry)) -> Result<Vec<String>> {
        let (history, listed) = (self.history()?, self.listed()?);
        let left_out = listed.len().saturating_sub(HistoryBranch::RECENT);
        let mut warnings = Vec::new();
        if left_out > 0 {
            let (all, recent) = (listed.len(), HistoryBranch::RECENT);
            warnings.push(format!("{} holds {all} runs; the newest {recent} are looked at", self.address));
        }
        for listed in listed[left_out..].chunks(HistoryBranch::AT_ONCE) {
            let read = history.read_all(&listed.iter().collect::<Vec<_>>())?;
            for (listed, entry) in listed.iter().zip(read) {
                match entry {
                    Ok(entry) => show(listed, entry),
                    Err(fault) => {
                        warnings.push(format!("{} is not part of the history: {}", fault.place, fault.what));
                    }
                }
            }
        }
        Ok(warnings)
    }

    /// A run by its id, or the newest one of a branch: `main`, `main@h100`.
    fn find(&self, name: &str) -> Result<Option<Rc<HistoryEntry>>> {
        // `HEAD~1` is looked for among the commits, and not worth a request.
        if format!("git:{name}").parse::<Address>().is_err() {
            return Ok(None);
        }
        if let Some((_, found)) = self.found.borrow().iter().find(|(known, _)| known == name) {
            return Ok(found.clone());
        }
        let (history, listed) = (self.history()?, self.listed()?);
        let by_id = listed.iter().find(|listed| listed.run_id.as_str() == name);
        let mut found = by_id.map(|run| history.read(run)).transpose()?;
        let newest = listed.iter().rev().take(if found.is_some() { 0 } else { MAX_SEARCHED });
        for run in newest {
            match history.read(run) {
                Ok(entry) if entry.branch == name || entry.series() == name => {
                    found = Some(entry);
                    break;
                }
                // A folder that is not a run has no name.
                Ok(_) => {}
                Err(fault) if fault.exit == Exit::Usage => {}
                Err(fault) => return Err(fault),
            }
        }
        let found = found.map(Rc::new);
        self.found.borrow_mut().push((name.to_owned(), found.clone()));
        Ok(found)
    }

    fn missing(&self, name: &str) -> Fault {
        let (what, next) = match (self.listed(), self.need()) {
            (Ok([]), Err(fault)) => (format!("{}: {}", fault.place, fault.what), fault.next),
            (Ok([]), Ok(())) => {
                let next = format!("add one: `gbench-ci publish --history {}`", self.address);
                (format!("no run is in {}", self.address), next)
            }
            _ => (
                format!("none of the newest {MAX_SEARCHED} runs in {} is of this branch", self.address),
                format!("use a name that `gbench-ci baseline list --store {}` shows", self.address),
            ),
        };
        Fault::at(format!("baseline `{name}`"), what, next)
    }
}

/// The histories of several comparisons, each base with its head, in the same order: every stored record is read once
/// and let go. Also a warning for each that cannot be read. Nothing is read where no comparison asks the past.
///
/// Errors: a store of the command line that is invalid or cannot be read.
pub(crate) fn histories(
    suite: Option<&Suite>,
    stores: &Stores<'_>,
    pairs: &[(&RunRecord, &RunRecord)],
    policy: &Policy,
) -> Result<(Vec<Past>, Vec<String>)> {
    let mut histories = vec![Past::default(); pairs.len()];
    if policy.sessions == 0 || pairs.iter().all(|(base, head)| one_session(base, head)) {
        return Ok((histories, Vec::new()));
    }
    let mut add = |name: &str, record: &RunRecord| {
        for (history, pair) in histories.iter_mut().zip(pairs) {
            history.add(name, record, *pair, &policy.match_key);
        }
    };
    let read = stores.of(suite).and_then(|stored| match &*stored {
        Stored::Folder(store) => {
            let mut warnings = Vec::new();
            for entry in store.list() {
                match read_record(&entry.path) {
                    Ok(record) => add(entry.name.as_str(), &record),
                    Err(fault) => {
                        let path = shown(&entry.path);
                        warnings.push(format!("{path} is not part of the history: {}", fault.what));
                    }
                }
            }
            Ok(warnings)
        }
        Stored::Branch(branch) => branch.each(|_, entry| add(&entry.series(), &entry.record)),
    });
    match read {
        Ok(warnings) => Ok((histories, warnings)),
        Err(fault) if stores.flag.is_some() => Err(fault),
        // Two records are compared without a store, too; only its past is missing then.
        Err(fault) => {
            Ok((vec![Past::default(); pairs.len()], vec![format!("no history was read: {}", fault.what)]))
        }
    }
}
