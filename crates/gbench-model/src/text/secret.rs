//! Decides which environment variables are secret. The manifest must not record them, and the runner must not pass them to a
//! benchmark.
//!
//! The rule uses names only and errs on the safe side: a harmless variable that is withheld costs a line in the suite file, a
//! leaked token costs a repository.

/// Words that mark a secret anywhere in a name, even without a separator: `PGPASSWORD`, `githubToken`.
const SECRET_ENDINGS: [&str; 21] = [
    "accesskey",
    "apikey",
    "authtoken",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "creds",
    "jwt",
    "oauth",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "privatekey",
    "secret",
    "secretkey",
    "secrets",
    "signingkey",
    "token",
];

/// Words that mark a secret only as a separate word: `auth` is in `AUTHOR`, which is not a password.
const SECRET_WORDS: [&str; 6] = ["auth", "authorization", "bearer", "dsn", "netrc", "webhook"];

/// Words that mark a secret only as the last of several: `MYSQL_PWD` is a secret, `PWD` is the working folder.
const SECRET_LAST_WORDS: [&str; 6] = ["key", "keys", "pass", "pat", "pwd", "session"];

/// Adjacent words that mark a secret: `AWS_ACCESS_KEY_ID`.
const SECRET_PAIRS: [(&str, &str); 11] = [
    ("access", "key"),
    ("api", "key"),
    ("connection", "string"),
    ("customer", "key"),
    ("database", "url"),
    ("encryption", "key"),
    ("identity", "header"),
    ("private", "key"),
    ("service", "key"),
    ("session", "id"),
    ("signing", "key"),
];

/// A language model's tokens are a number: `MAX_TOKENS`.
const COUNTERS: [&str; 13] = [
    "batch",
    "batched",
    "completion",
    "input",
    "max",
    "min",
    "n",
    "new",
    "num",
    "output",
    "per",
    "prompt",
    "total",
];

/// Channels through which a child could act for the job, and agents that keep keys. Their names do not look secret.
const CHANNELS: [&str; 20] = [
    "AWS_CONFIG_FILE",
    "AWS_PROFILE",
    "AZURE_CONFIG_DIR",
    "CI_REPOSITORY_URL",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_CONFIG",
    "GITHUB_ENV",
    "GITHUB_OUTPUT",
    "GITHUB_PATH",
    "GITHUB_STATE",
    "GITHUB_STEP_SUMMARY",
    "GITHUB_TOKEN",
    "GIT_ASKPASS",
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GPG_AGENT_INFO",
    "IDENTITY_ENDPOINT",
    "KRB5CCNAME",
    "MSI_ENDPOINT",
    "SSH_AUTH_SOCK",
];

/// True if the value of a variable with this name must never be recorded. Case-insensitive; `_`, `-` and `.` separate words.
/// `ACTIONS_*` (the runner's own credentials) and `INPUT_*` (an action's inputs, tokens among them) always match.
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    if name.starts_with("actions_") || name.starts_with("input_") {
        return true;
    }
    let words: Vec<&str> = name
        .split(['_', '-', '.'])
        .map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()))
        .filter(|word| !word.is_empty())
        .collect();
    let Some(last) = words.last() else { return false };
    let anywhere = |word: &&str| {
        SECRET_WORDS.contains(word) || SECRET_ENDINGS.iter().any(|ending| word.ends_with(ending))
    };
    words.iter().any(anywhere)
        || counted_or_secret_tokens(&words)
        || SECRET_LAST_WORDS.contains(last) && (words.len() > 1 || *last == "key")
        || words.windows(2).any(|pair| SECRET_PAIRS.contains(&(pair[0], pair[1])))
}

/// `API_TOKENS` is a secret, `MAX_TOKENS` and `TOKENS_PER_BATCH` are numbers.
fn counted_or_secret_tokens(words: &[&str]) -> bool {
    words.contains(&"tokens") && !words.iter().any(|word| COUNTERS.contains(word))
}

/// True if a benchmark must not see this variable unless its suite file sets it: secrets, and the files and sockets through
/// which a process acts for the whole job.
pub fn scrubbed(name: &str) -> bool {
    looks_secret(name) || CHANNELS.iter().any(|channel| channel.eq_ignore_ascii_case(name))
}

/// The words of a command line, without the values of secret-looking names.
pub fn without_secrets(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut hide_next = false;
    let cut = |word: String| {
        let hidden = std::mem::take(&mut hide_next);
        match word.split_once('=') {
            _ if hidden => "***".into(),
            Some((name, _)) if looks_secret(name.trim_start_matches('-')) => format!("{name}=***"),
            Some(_) => word,
            None => {
                hide_next = word.strip_prefix("--").is_some_and(looks_secret);
                word
            }
        }
    };
    words.into_iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_hold_credentials_look_secret() {
        for name in [
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "HF_TOKEN",
            "githubToken",
            "CI_JOB_TOKEN",
            "GITLAB_TOKEN",
            "GITEA_TOKEN",
            "FORGEJO_TOKEN",
            "BUILDKITE_AGENT_ACCESS_TOKEN",
            "GBENCH_WEBHOOK_SECRET",
            "CI_REGISTRY_PASSWORD",
            "API_TOKENS",
            "TOKEN2",
            "TORCH_TOKEN_FILE",
            "CLIENT_SECRET",
            "SECRETS",
            "PGPASSWORD",
            "DB_PASS",
            "MYSQL_PWD",
            "RSYNC_PASSWD",
            "SSH_PASSPHRASE",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "SYSTEM_ACCESSTOKEN",
            "WANDB_API_KEY",
            "wandb-api-key",
            "OPENAI_APIKEY",
            "KEY",
            "DEPLOY_KEY",
            "SSH_PRIVATE_KEY_PATH",
            "npm_config__auth",
            "NODE_AUTH_TOKEN",
            "HTTP_AUTHORIZATION",
            "OAUTH",
            "CI_JOB_JWT_V2",
            "SESSION_COOKIE",
            "BW_SESSION",
            "PHP_SESSION_ID",
            "GH_PAT",
            "SENTRY_DSN",
            "SLACK_WEBHOOK_URL",
            "DATABASE_URL",
            "AZURE_STORAGE_CONNECTION_STRING",
            "ACTIONS_RUNTIME_URL",
            "ACTIONS_ID_TOKEN_REQUEST_URL",
            "INPUT_GITHUB-TOKEN",
            "CUDA_LICENSE_KEY",
        ] {
            assert!(looks_secret(name), "{name}");
        }
    }

    #[test]
    fn ordinary_names_do_not() {
        for name in [
            "",
            "_",
            "PATH",
            "PWD",
            "OLDPWD",
            "KEYBOARD",
            "MONKEY",
            "TOKENIZERS_PARALLELISM",
            "TOKENIZER",
            "MAX_TOKENS",
            "TOKENS_PER_BATCH",
            "AUTHOR",
            "GIT_AUTHOR_NAME",
            "COMPASS",
            "BYPASS_CACHE",
            "PATTERN",
            "SESSION_MANAGER_OFF",
            "SSL_CERT_FILE",
            "CUDA_VISIBLE_DEVICES",
            "CUDA_DEVICE_ORDER",
            "OMP_NUM_THREADS",
            "LD_LIBRARY_PATH",
            "GITHUB_SHA",
            "GITHUB_ACTIONS",
            "INPUTS",
            "HOME",
        ] {
            assert!(!looks_secret(name), "{name}");
        }
    }

    #[test]
    fn a_child_sees_neither_secrets_nor_the_jobs_channels() {
        for name in
            ["GITHUB_TOKEN", "GITHUB_ENV", "github_output", "SSH_AUTH_SOCK", "ACTIONS_CACHE_URL", "X_KEY"]
        {
            assert!(scrubbed(name), "{name}");
        }
        for name in ["GITHUB_SHA", "GITHUB_WORKSPACE", "HOME", "PATH", "CUDA_VISIBLE_DEVICES"] {
            assert!(!scrubbed(name), "{name}");
        }
    }

    /// The names by which a history in a bucket gets its credentials, of S3, Google and Azure.
    #[test]
    fn a_child_sees_no_credentials_of_a_bucket() {
        for name in [
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_TOKEN",
            "AWS_SSE_CUSTOMER_KEY_BASE64",
            "AWS_SHARED_CREDENTIALS_FILE",
            "AWS_PROFILE",
            "AWS_CONFIG_FILE",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_SERVICE_ACCOUNT",
            "GOOGLE_SERVICE_ACCOUNT_PATH",
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            "GOOGLE_BEARER_TOKEN",
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_ACCESS_KEY",
            "AZURE_STORAGE_MASTER_KEY",
            "AZURE_STORAGE_CLIENT_SECRET",
            "AZURE_CLIENT_SECRET",
            "AZURE_STORAGE_SAS_KEY",
            "AZURE_STORAGE_SAS_TOKEN",
            "AZURE_STORAGE_TOKEN",
            "AZURE_STORAGE_ENCRYPTION_KEY",
            "AZURE_STORAGE_CONNECTION_STRING",
            "AZURE_FEDERATED_TOKEN_FILE",
            "AZURE_FABRIC_SESSION_TOKEN",
            "AZURE_CONFIG_DIR",
            "IDENTITY_ENDPOINT",
            "IDENTITY_HEADER",
            "MSI_ENDPOINT",
        ] {
            assert!(scrubbed(name), "{name}");
        }
        // Data sets of benchmarks are in buckets, too.
        for name in ["AWS_REGION", "AWS_ENDPOINT_URL", "GOOGLE_CLOUD_PROJECT", "AZURE_STORAGE_ACCOUNT_NAME"] {
            assert!(!scrubbed(name), "{name}");
        }
    }

    #[test]
    fn secrets_on_a_command_line_are_not_recorded() {
        let words = ["gbench-ci", "--api-token", "abc", "--param", "hf_token=xyz", "--param", "n=1"];
        let kept = without_secrets(words.map(str::to_owned));
        assert_eq!(kept, ["gbench-ci", "--api-token", "***", "--param", "hf_token=***", "--param", "n=1"]);
    }
}
