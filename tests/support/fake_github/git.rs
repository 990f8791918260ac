//! Git data: refs, blobs, trees and commits, kept in a real repository.

use git2::{ObjectType, Oid};
use serde_json::{Value, json};

use super::base64;
use super::call::{Call, Handled, Reply};
use super::world::{Repository, World, now};

pub fn handle(world: &mut World, call: &Call) -> Handled {
    let api = world.api.clone();
    let most = world.tree_entries;
    let repository = call.repository(world)?;
    if repository.git.references().unwrap().next().is_none() {
        return Err(Reply::refusal(409, "Git Repository is empty."));
    }
    let at = Place { root: format!("{api}/repos/{}/git", call.slug()), repository, most };
    match call.operation.as_str() {
        "git/get-ref" => at.get_ref(call),
        "git/create-ref" => at.create_ref(call),
        "git/update-ref" => at.update_ref(call),
        "git/get-blob" => at.get_blob(call),
        "git/create-blob" => at.create_blob(call),
        "git/get-tree" => at.get_tree(call),
        "git/create-tree" => at.create_tree(call),
        "git/get-commit" => at.get_commit(call),
        "git/create-commit" => at.create_commit(call),
        "repos/get-content" => at.get_content(call),
        _ => Err(Reply::not_found()),
    }
}

struct Place<'a> {
    /// `http://127.0.0.1:PORT/repos/o/r/git`.
    root: String,
    repository: &'a Repository,
    most: usize,
}

fn oid(text: &str) -> Option<Oid> {
    Oid::from_str(text).ok().filter(|_| text.len() == 40)
}

fn refuse(message: &str) -> Reply {
    Reply::refusal(422, message)
}

impl Place<'_> {
    fn git(&self) -> &git2::Repository {
        &self.repository.git
    }

    fn shown_ref(&self, name: &str, target: Oid) -> Value {
        let kind = self.git().find_object(target, None).ok().and_then(|object| object.kind());
        let kind = kind.unwrap_or(ObjectType::Commit).str();
        json!({
            "ref": name, "node_id": "REF", "url": format!("{}/{name}", self.root),
            "object": { "type": kind, "sha": target.to_string(), "url": format!("{}/{kind}s/{target}", self.root) },
        })
    }

    fn get_ref(&self, call: &Call) -> Handled {
        let name = format!("refs/{}", call.name("ref"));
        let target = self.git().find_reference(&name).ok().and_then(|found| found.target());
        Ok(Reply::ok(self.shown_ref(&name, target.ok_or_else(Reply::not_found)?)))
    }

    /// What `sha` names, which has to be there.
    fn object(&self, call: &Call) -> Result<Oid, Reply> {
        let id = oid(call.body["sha"].as_str().unwrap_or(""));
        id.filter(|id| self.git().odb().is_ok_and(|odb| odb.exists(*id)))
            .ok_or_else(|| refuse("Object does not exist"))
    }

    /// Rules hold for the ref. GitHub's words begin like this whichever rule it is.
    fn unprotected(&self, name: &str) -> Result<(), Reply> {
        let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
        match self.repository.protected.contains(branch) {
            true => Err(refuse("Repository rule violations found\n\nCannot update this protected ref.\n\n")),
            false => Ok(()),
        }
    }

    fn create_ref(&self, call: &Call) -> Handled {
        let name = call.text("ref").unwrap_or_default();
        if !name.starts_with("refs/") || name.matches('/').count() < 2 {
            return Err(refuse("Reference name must start with 'refs/' and contain at least two slashes."));
        }
        if self.git().find_reference(&name).is_ok() {
            return Err(refuse("Reference already exists"));
        }
        let target = self.object(call)?;
        self.unprotected(&name)?;
        // A branch `a` leaves no room for a branch `a/b`.
        self.git()
            .reference(&name, target, false, "create")
            .map_err(|_| refuse("Reference update failed"))?;
        Ok(Reply::created(self.shown_ref(&name, target)))
    }

    fn update_ref(&self, call: &Call) -> Handled {
        let name = format!("refs/{}", call.name("ref"));
        let found = self.git().find_reference(&name).ok().and_then(|found| found.target());
        let before = found.ok_or_else(|| refuse("Reference does not exist"))?;
        let after = self.object(call)?;
        let follows = before == after || self.git().graph_descendant_of(after, before).unwrap_or(false);
        if !follows && call.body["force"] != true {
            return Err(refuse("Update is not a fast forward"));
        }
        self.unprotected(&name)?;
        self.git().reference(&name, after, true, "update").map_err(|_| refuse("Reference update failed"))?;
        Ok(Reply::ok(self.shown_ref(&name, after)))
    }

    fn get_blob(&self, call: &Call) -> Handled {
        let sha = call.name("file_sha");
        let blob = oid(sha).and_then(|id| self.git().find_blob(id).ok()).ok_or_else(Reply::not_found)?;
        // Broken into lines, as GitHub does.
        let whole = base64::encoded(blob.content());
        let lines = whole.as_bytes().chunks(60).map(|line| String::from_utf8_lossy(line).into_owned() + "\n");
        Ok(Reply::ok(json!({
            "sha": sha, "url": format!("{}/blobs/{sha}", self.root), "node_id": "B", "size": blob.size(),
            "encoding": "base64", "content": lines.collect::<String>(),
        })))
    }

    /// A file at a path of a commit; folders are not asked for.
    fn get_content(&self, call: &Call) -> Handled {
        let path = call.name("path");
        let commit = call.asked("ref").and_then(|name| self.repository.commit_of(name));
        let tree =
            commit.as_deref().and_then(oid).and_then(|id| self.git().find_commit(id).ok()?.tree().ok());
        let entry = tree.and_then(|tree| tree.get_path(std::path::Path::new(path)).ok());
        let blob =
            entry.and_then(|entry| self.git().find_blob(entry.id()).ok()).ok_or_else(Reply::not_found)?;
        let at = format!("{}/blobs/{}", self.root, blob.id());
        Ok(Reply::ok(json!({
            "type": "file", "encoding": "base64", "content": base64::encoded(blob.content()), "size": blob.size(),
            "name": path.rsplit('/').next(), "path": path, "sha": blob.id().to_string(), "url": at, "git_url": at,
            "html_url": null, "download_url": null, "_links": { "git": at, "html": null, "self": at },
        })))
    }

    fn create_blob(&self, call: &Call) -> Handled {
        let content = call.text("content").unwrap_or_default();
        let bytes = match call.body["encoding"].as_str().unwrap_or("utf-8") {
            "utf-8" => content.into_bytes(),
            "base64" => base64::decoded(&content).ok_or_else(|| refuse("content is not valid Base64"))?,
            _ => return Err(refuse("Unsupported encoding")),
        };
        let id = self.git().blob(&bytes).unwrap();
        Ok(Reply::created(json!({ "sha": id.to_string(), "url": format!("{}/blobs/{id}", self.root) })))
    }

    /// One level of a tree, or all of it with slashes in the paths.
    fn listed(&self, tree: &git2::Tree, before: &str, recursive: bool, into: &mut Vec<Value>) {
        for entry in tree {
            let path = format!("{before}{}", entry.name().unwrap_or("?"));
            let kind = entry.kind().unwrap_or(ObjectType::Blob);
            let mut shown = json!({
                "path": path, "mode": format!("{:06o}", entry.filemode()), "type": kind.str(),
                "sha": entry.id().to_string(), "url": format!("{}/{}s/{}", self.root, kind.str(), entry.id()),
            });
            if let Ok(blob) = self.git().find_blob(entry.id()) {
                shown["size"] = blob.size().into();
            }
            into.push(shown);
            if let (true, Ok(below)) = (recursive, self.git().find_tree(entry.id())) {
                self.listed(&below, &format!("{path}/"), true, into);
            }
        }
    }

    fn shown_tree(&self, tree: &git2::Tree, recursive: bool) -> Value {
        let mut entries = Vec::new();
        self.listed(tree, "", recursive, &mut entries);
        let truncated = recursive && entries.len() > self.most;
        if truncated {
            entries.truncate(self.most);
        }
        json!({
            "sha": tree.id().to_string(), "url": format!("{}/trees/{}", self.root, tree.id()),
            "tree": entries, "truncated": truncated,
        })
    }

    /// By the tree's own id, a commit's, or the name of a ref.
    fn get_tree(&self, call: &Call) -> Handled {
        let name = call.name("tree_sha");
        let id = self.repository.commit_of(name).as_deref().and_then(oid).or_else(|| oid(name));
        let object = id.and_then(|id| self.git().find_object(id, None).ok()).ok_or_else(Reply::not_found)?;
        let tree = object.peel_to_tree().map_err(|_| Reply::not_found())?;
        Ok(Reply::ok(self.shown_tree(&tree, call.asked("recursive").is_some())))
    }

    fn create_tree(&self, call: &Call) -> Handled {
        let base = match call.body["base_tree"].as_str() {
            None => self.git().treebuilder(None).and_then(|builder| builder.write()).unwrap(),
            Some(sha) => {
                let object = oid(sha).and_then(|id| self.git().find_object(id, None).ok());
                let tree = object.and_then(|object| object.peel_to_tree().ok());
                tree.ok_or_else(|| refuse("base_tree is not a valid tree oid"))?.id()
            }
        };
        let base = self.git().find_tree(base).unwrap();
        let mut update = git2::build::TreeUpdateBuilder::new();
        for entry in call.body["tree"].as_array().into_iter().flatten() {
            self.entry(entry, &base, &mut update)?;
        }
        let id = update.create_updated(self.git(), &base).map_err(|error| refuse(error.message()))?;
        let tree = self.git().find_tree(id).unwrap();
        Ok(Reply::created(self.shown_tree(&tree, false)))
    }

    fn entry(
        &self,
        entry: &Value,
        base: &git2::Tree,
        update: &mut git2::build::TreeUpdateBuilder,
    ) -> Result<(), Reply> {
        let path = entry["path"].as_str().unwrap_or("");
        let malformed =
            |part: &str| part.is_empty() || part == "." || part == ".." || part.eq_ignore_ascii_case(".git");
        if path.split('/').any(malformed) {
            return Err(refuse("tree.path contains a malformed path component"));
        }
        if entry["sha"].is_null() && entry["content"].is_null() {
            if base.get_path(std::path::Path::new(path)).is_err() {
                return Err(refuse("GitRPC::BadObjectState"));
            }
            update.remove(path);
            return Ok(());
        }
        let mode = match entry["mode"].as_str() {
            Some("100644") => git2::FileMode::Blob,
            Some("100755") => git2::FileMode::BlobExecutable,
            Some("040000") => git2::FileMode::Tree,
            Some("120000") => git2::FileMode::Link,
            _ => return Err(refuse("tree.mode is not one of those that are supported")),
        };
        let id = match (entry["sha"].as_str(), entry["content"].as_str()) {
            (Some(_), Some(_)) => {
                return Err(refuse("Must supply either tree.sha or tree.content, not both"));
            }
            (Some(sha), None) => oid(sha).filter(|id| self.git().find_object(*id, None).is_ok()),
            (None, content) => self.git().blob(content.unwrap_or("").as_bytes()).ok(),
        };
        let id = id.ok_or_else(|| refuse(&format!("tree.sha {} is not a valid object", entry["sha"])))?;
        update.upsert(path, id, mode);
        Ok(())
    }

    fn shown_commit(&self, commit: &git2::Commit) -> Value {
        let by = |signature: git2::Signature| {
            let at = std::time::UNIX_EPOCH
                + std::time::Duration::from_secs(signature.when().seconds().max(0) as u64);
            json!({
                "name": signature.name().unwrap_or(""), "email": signature.email().unwrap_or(""),
                "date": super::world::written(at),
            })
        };
        let parent = |id: Oid| json!({ "sha": id.to_string(), "url": format!("{}/commits/{id}", self.root) });
        let (id, tree) = (commit.id(), commit.tree_id());
        json!({
            "sha": id.to_string(),
            "node_id": "C",
            "url": format!("{}/commits/{id}", self.root),
            "author": by(commit.author()),
            "committer": by(commit.committer()),
            "message": commit.message().unwrap_or(""),
            "tree": { "sha": tree.to_string(), "url": format!("{}/trees/{tree}", self.root) },
            "parents": commit.parent_ids().map(parent).collect::<Vec<_>>(),
            "verification": { "verified": false, "reason": "unsigned", "signature": null, "payload": null },
        })
    }

    fn get_commit(&self, call: &Call) -> Handled {
        let id = oid(call.name("commit_sha"));
        let commit = id.and_then(|id| self.git().find_commit(id).ok()).ok_or_else(Reply::not_found)?;
        Ok(Reply::ok(self.shown_commit(&commit)))
    }

    fn create_commit(&self, call: &Call) -> Handled {
        let tree = oid(call.body["tree"].as_str().unwrap_or(""));
        let tree = tree.and_then(|id| self.git().find_tree(id).ok());
        let tree = tree.ok_or_else(|| refuse("Tree SHA does not exist"))?;
        let mut parents = Vec::new();
        for parent in call.body["parents"].as_array().into_iter().flatten() {
            let commit = parent.as_str().and_then(oid).and_then(|id| self.git().find_commit(id).ok());
            parents
                .push(commit.ok_or_else(|| refuse("Parent SHA does not exist or is not a commit object"))?);
        }
        let author = self.signature(&call.body["author"], &call.token.login);
        let committer = match call.body.get("committer") {
            Some(by) => self.signature(by, &call.token.login),
            None => author.clone(),
        };
        let message = call.text("message").unwrap_or_default();
        let parents: Vec<&git2::Commit> = parents.iter().collect();
        let id = self.git().commit(None, &author, &committer, &message, &tree, &parents);
        let id = id.map_err(|error| refuse(error.message()))?;
        Ok(Reply::created(self.shown_commit(&self.git().find_commit(id).unwrap())))
    }

    /// Whoever the body names, at the time it names; else the token's owner, now.
    fn signature(&self, by: &Value, login: &str) -> git2::Signature<'static> {
        let at = humantime::parse_rfc3339_weak(by["date"].as_str().unwrap_or(&now())).unwrap();
        let seconds = at.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
        let email = format!("{login}@users.noreply.github.invalid");
        let (name, email) = (by["name"].as_str().unwrap_or(login), by["email"].as_str().unwrap_or(&email));
        git2::Signature::new(name, email, &git2::Time::new(seconds as i64, 0)).unwrap()
    }
}
