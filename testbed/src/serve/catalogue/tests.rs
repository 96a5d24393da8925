use super::*;
use tempfile::TempDir;

const CALM: &str = "
version: 1
name: calm
about: >
  Does it stay calm?
  It should.
run: { seed: 3 }
arms: { a: { controller: { fixed: { limit: 1 } } } }
backend: { servers: 1, service: { constant: 1ms } }
load: { closed: { clients: 1 } }
phases: [{ name: p, for: 2s }]
";

/// A folder `mine` of experiments, with a file beside it that is none of them.
fn scratch() -> (TempDir, Catalogue) {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().join("mine");
    fs::create_dir_all(folder.join("deep/mine")).unwrap();
    for (file, text) in [
        ("calm.yaml", CALM),
        ("deep/mine/calm.yaml", CALM),
        ("deep/broken.yaml", "version: 1\nnme: x\n"),
        ("notes.txt", "no experiment"),
        ("../secret.yaml", CALM),
    ] {
        fs::write(folder.join(file), text).unwrap();
    }
    let catalogue = Catalogue::new(&folder);
    (dir, catalogue)
}

#[test]
fn every_file_is_listed_and_a_broken_one_with_its_problem() {
    let (_dir, catalogue) = scratch();
    let list = catalogue.list().unwrap();
    let names: Vec<_> = list.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["calm", "deep/broken", "deep/mine/calm"]);
    assert_eq!(
        list[0],
        json!({
            "name": "calm", "title": "calm", "about": "Does it stay calm?", "mode": "virtual",
            "seed": 3, "arms": ["a"], "length_ns": 2_000_000_000_u64,
        })
    );
    let problem = list[1]["problem"].as_str().unwrap();
    assert!(problem.contains("deep/broken.yaml:2:1: unknown field `nme`"), "{problem}");
}

#[test]
fn a_file_is_described_anew_when_it_has_changed_and_only_then() {
    use std::time::Duration;
    let (dir, catalogue) = scratch();
    let path = dir.path().join("mine/calm.yaml");
    let title = || catalogue.list().unwrap()[0]["title"].clone();
    let (then, later) = (SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH + Duration::from_secs(1));
    for (name, changed, shown) in [
        ("calm", then, "calm"),
        // As long as before and of the same time: nobody can tell that it is another.
        ("mild", then, "calm"),
        ("mild", later, "mild"),
        ("milder", later, "milder"),
    ] {
        fs::write(&path, CALM.replace("name: calm", &format!("name: {name}"))).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(changed).unwrap();
        assert_eq!(title(), shown, "{name}");
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(catalogue.list().unwrap()[0]["name"], "deep/broken");
    assert_eq!(catalogue.listed().len(), 2);
}

#[test]
fn a_path_to_the_file_is_a_name_too() {
    let (_dir, catalogue) = scratch();
    for (asked, name) in [
        ("calm", "calm"),
        ("calm.yaml", "calm"),
        ("mine/calm.yaml", "calm"),
        ("mine/deep/mine/calm", "deep/mine/calm"),
    ] {
        let found = catalogue.find(asked).unwrap();
        assert_eq!((&*found.name, &*found.text), (name, CALM), "{asked}");
    }
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let (_dir, catalogue) = scratch();
    for asked in ["clam", "mine/clam", "deep", "notes.txt", "calm.yaml/x", "else/calm"] {
        let text = catalogue.find(asked).unwrap_err().to_string();
        assert!(text.contains("there is calm, deep/broken, deep/mine/calm"), "{asked}: {text}");
    }
    let nowhere = Catalogue::new(Path::new("no/such/folder"));
    let text = nowhere.find("calm").unwrap_err().to_string();
    assert!(text.contains("no folder no/such/folder that can be read"), "{text}");
    assert!(nowhere.names().is_err());
}

#[test]
fn a_text_that_is_too_long_is_not_read() {
    let (dir, catalogue) = scratch();
    File::create(dir.path().join("mine/long.yaml")).unwrap().set_len(1 << 30).unwrap();
    assert!(matches!(catalogue.find("long"), Err(Unfound::Refused(_))));
    assert_eq!(catalogue.list().unwrap().len(), 4);
}

#[cfg(unix)]
#[test]
fn a_link_within_the_folder_is_followed_and_one_that_leads_out_is_refused() {
    use std::os::unix::fs::symlink;
    let (dir, catalogue) = scratch();
    let folder = dir.path().join("mine");
    symlink("../calm.yaml", folder.join("deep/inside.yaml")).unwrap();
    symlink("../secret.yaml", folder.join("outside.yaml")).unwrap();
    symlink(dir.path(), folder.join("out")).unwrap();
    symlink(&folder, folder.join("round")).unwrap();
    assert_eq!(catalogue.find("deep/inside").unwrap().text, CALM);
    for asked in ["outside", "out/secret"] {
        assert!(matches!(catalogue.find(asked), Err(Unfound::Outside(_))), "{asked}");
    }
    let names = catalogue.names().unwrap();
    assert_eq!(names, ["calm", "deep/broken", "deep/inside", "deep/mine/calm"]);
}

#[test]
fn the_first_sentence_ends_with_its_mark() {
    for (text, first) in [
        ("One. Two.", "One."),
        ("Is it 0.7? Yes. ", "Is it 0.7?"),
        ("Broken\n over lines. More", "Broken over lines."),
        ("No end", "No end"),
        ("", ""),
    ] {
        assert_eq!(first_sentence(text), first, "{text:?}");
    }
}

#[test]
fn an_experiment_may_name_traces_beside_it_and_none_elsewhere() {
    let (dir, catalogue) = scratch();
    let folder = dir.path().join("mine/deep");
    let found = catalogue.find("deep/mine/calm").unwrap();
    let load = |file: &str| {
        let set = ("load".to_owned(), format!("{{ open: {{ trace: {{ file: {file} }} }} }}"));
        found.plan(&Overrides { set: vec![set], ..Overrides::default() })
    };
    for place in ["mine/t.csv", "t.csv"] {
        fs::write(folder.join(place), "arrival_s\n0.5\n").unwrap();
    }
    assert_eq!(load("t.csv").unwrap().traces.len(), 1);
    for elsewhere in ["../t.csv", "../../calm.yaml", "/etc/hostname"] {
        let said = load(elsewhere).unwrap_err().to_string();
        assert!(said.contains("is not a path within"), "{elsewhere}: {said}");
    }
}
