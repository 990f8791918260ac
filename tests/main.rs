mod doctor;
mod fake_nvml;
mod manifest;
mod manifest_git;
