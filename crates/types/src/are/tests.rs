use super::*;

fn groups(pattern: &str, text: &str) -> Option<Vec<Option<String>>> {
    let regex = Regex::new(pattern, Options::default()).unwrap();
    let found = regex.find_at(text, 0).unwrap()?;
    let all = std::iter::once(Some(found.range.clone())).chain(found.groups());
    Some(
        all.map(|group| group.map(|range| text[range].to_string()))
            .collect(),
    )
}

fn check(pattern: &str, text: &str, expect: Option<&[&str]>) {
    let found = groups(pattern, text);
    let found: Option<Vec<String>> = found.map(|all| {
        all.into_iter()
            .map(|group| group.unwrap_or_else(|| "-".to_string()))
            .collect()
    });
    let expect: Option<Vec<String>> = expect.map(|all| all.iter().map(|part| part.to_string()).collect());
    assert_eq!(found, expect, "{pattern} on {text}");
    let regex = Regex::new(pattern, Options::default()).unwrap();
    assert_eq!(
        regex.is_match(text).unwrap(),
        expect.is_some(),
        "{pattern} on {text}"
    );
}

#[test]
fn prefers_what_the_first_quantified_atom_prefers() {
    check("a|ab|abb", "abb", Some(&["abb"]));
    check("Y*([0-9]{1,3})", "XY1234Z", Some(&["Y123", "123"]));
    check("Y*?([0-9]{1,3})", "XY1234Z", Some(&["Y1", "1"]));
    check(
        "(?:(.*)(\\d+)(.*))",
        "abc01234xyz",
        Some(&["abc01234xyz", "abc0123", "4", "xyz"]),
    );
    check("(.*?)(\\d+)(.*)", "abc01234xyz", Some(&["abc0", "abc", "0", ""]));
    check(
        "(?:(.*?)(\\d+)(.*)){1,1}",
        "abc01234xyz",
        Some(&["abc01234xyz", "abc", "01234", "xyz"]),
    );
    check(
        "^(l*){1,1}?(.*)(f*)$",
        "llmmmfff",
        Some(&["llmmmfff", "", "llmmmfff", ""]),
    );
    check(
        "^(l*?)(.*)(f*)$",
        "llmmmfff",
        Some(&["llmmmfff", "", "llmmmfff", ""]),
    );
    check(
        "^([^/]+?)(?:/([^/]+?))(?:/([^/]+?))?$",
        "foo/bar/baz",
        Some(&["foo/bar/baz", "foo", "bar", "baz"]),
    );
}

#[test]
fn iterates() {
    check("((a))+", "aaa", Some(&["aaa", "a", "a"]));
    check("(?:(a)|b)*", "ab", Some(&["ab", "-"]));
    check("((a)|b)*", "ba", Some(&["ba", "a", "a"]));
    check("(a*){0,2}b", "aab", Some(&["aab", "aa"]));
    check("(a|ab)(c|bcd)(d*)", "abcd", Some(&["abcd", "ab", "c", "d"]));
    check("()*x", "x", Some(&["x", ""]));
}

#[test]
fn refers_back_and_looks_around() {
    check("^([bc])\\1*$", "bbbbb", Some(&["bbbbb", "b"]));
    check("^([bc])\\1*$", "bbc", None);
    check("(\\w)(.*?\\1)", "Programmer", Some(&["rogr", "r", "ogr"]));
    check("^((.)\\2|..)\\2", "abadef", None);
    check("()*\\1", "a", Some(&["", ""]));
    check("a([bc])(\\1*)", "ab", Some(&["ab", "b", ""]));
    check("((.))(\\2)", "xyy", Some(&["yy", "y", "y", "y"]));
    check("a(?=b)b*(?=c)c*", "abc", Some(&["abc"]));
    check("a(?!b)b*", "ab", None);
    check("(?<=oo)b+", "foobar", Some(&["b"]));
    check("(?<!a)b+", "ab", None);
    check("\\mbar\\M", "foo bar", Some(&["bar"]));
    check("\\ybar\\y", "foobar", None);
    check("[[:<:]]bar[[:>:]]", "a bar", Some(&["bar"]));
}

#[test]
fn reads_escapes_and_brackets() {
    check("\\x41\\u0042\\103", "ABC", Some(&["ABC"]));
    check("[]a]+", "a]a", Some(&["a]a"]));
    check("[^]a]+", "xa", Some(&["x"]));
    check("[[.hyphen.]-]+", "--", Some(&["--"]));
    check("[[:alpha:]\\d]+", "a1-", Some(&["a1"]));
    check("[\\W]", "a-", Some(&["-"]));
    check("***=a.b", "xa.b", Some(&["a.b"]));
    check("(?i)AbC", "aBc", Some(&["aBc"]));
    check("(?x)a b # c", "ab", Some(&["ab"]));
    check("a{,2}", "a{,2}", Some(&["a{,2}"]));
    check("x(?#a comment)y", "xy", Some(&["xy"]));
    check("(?b)a\\(b*\\)\\1*", "abb", Some(&["abb", "bb"]));
    check("(?e)a)\\d", "a)d", Some(&["a)d"]));
}

#[test]
fn heeds_newlines_as_asked() {
    let found = |letters: &str, pattern: &str, text: &str| {
        let mut options = Options::default();
        assert!(letters.chars().all(|letter| options.apply(letter)));
        let regex = Regex::new(pattern, options).unwrap();
        let all: SqlResult<Vec<Match>> = regex.matches(text, 0).collect();
        all.unwrap()
            .into_iter()
            .map(|found| text[found.range].to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(found("", "^.*$", "a\nb"), ["a\nb"]);
    assert_eq!(found("n", "^.*$", "a\nb"), ["a", "b"]);
    assert_eq!(found("p", ".+", "a\nb"), ["a", "b"]);
    assert_eq!(found("w", "^.", "a\nb"), ["a", "b"]);
    assert_eq!(found("n", "[^x]+", "a\nb"), ["a", "b"]);
    assert_eq!(found("n", ".?$", "\n1\n2"), ["", "1", "", "2", ""]);
}

#[test]
fn refuses_in_postgres_words() {
    let reason = |pattern: &str| match Regex::new(pattern, Options::default()) {
        Ok(_) => panic!("{pattern} was taken"),
        Err(error) => error
            .message()
            .trim_start_matches("invalid regular expression: ")
            .to_string(),
    };
    assert_eq!(reason("a**"), "quantifier operand invalid");
    assert_eq!(reason("***a"), "quantifier operand invalid");
    assert_eq!(reason("(a"), "parentheses () not balanced");
    assert_eq!(reason("a)"), "parentheses () not balanced");
    assert_eq!(reason("[a"), "brackets [] not balanced");
    assert_eq!(reason("a{1"), "braces {} not balanced");
    assert_eq!(reason("a{2,1}"), "invalid repetition count(s)");
    assert_eq!(reason("a{256}"), "invalid repetition count(s)");
    assert_eq!(reason("[b-a]"), "invalid character range");
    assert_eq!(reason("[[:nope:]]"), "invalid character class");
    assert_eq!(reason("[[.nope.]]"), "invalid collating element");
    assert_eq!(reason("\\q"), "invalid escape \\ sequence");
    assert_eq!(reason("a\\"), "invalid escape \\ sequence");
    assert_eq!(reason("\\x7fffffff"), "invalid escape \\ sequence");
    assert_eq!(reason("(a)\\2"), "invalid backreference number");
    assert_eq!(reason("x(\\w)(?=\\1)"), "invalid backreference number");
    assert_eq!(reason("(?z)a"), "invalid embedded option");
    assert_eq!(reason(&"(".repeat(1000)), "regular expression is too complex");
    assert_eq!(
        reason("((a{255}){255}){255}"),
        "regular expression is too complex"
    );
}

/// Patterns that take exponential time where matching backtracks.
#[test]
fn takes_bounded_time() {
    let text = "a".repeat(2000);
    check("(a*)*b", &text, None);
    check("((a|aa)+)+$", &text, Some(&[&text, "a", "a"]));
    check("(?:(a*)*|b)*c", &text, None);
    check("(x+x+)+y", &"x".repeat(2000), None);
    // References can take that long: the search says so instead.
    let regex = Regex::new("^(a*)(a*)(a*)(a*)(a*)\\1\\2\\3\\4\\5b$", Options::default()).unwrap();
    let text = format!("{}b", "a".repeat(201));
    let error = Matcher::new(&text, false, regex.groups, 1_000_000)
        .find(&regex.tree, 0)
        .unwrap_err();
    assert!(error.message().contains("too complex"), "{}", error.message());
}

/// Whether and where the first match is, is the same for every engine.
#[test]
fn agrees_with_the_regex_crate_on_where_matches_start() {
    const PIECES: [&str; 12] = [
        "a", "b", ".", "[ab]", "(a)", "(a|ab)", "(b*)", "^", "$", "(a*?b)", "(ab|b)?", "a{1,2}",
    ];
    const TEXTS: [&str; 9] = ["", "a", "b", "ab", "ba", "aab", "abb", "abab", "bbaab"];
    for first in PIECES {
        for second in PIECES {
            for third in PIECES {
                let pattern = format!("{first}{second}{third}");
                let theirs = regex::Regex::new(&pattern).unwrap();
                let ours = Regex::new(&pattern, Options::default()).unwrap();
                let tree = &ours.tree;
                for text in TEXTS {
                    let mut matcher = Matcher::new(text, false, ours.groups, 1_000_000);
                    let found = matcher.find(tree, 0).unwrap().map(|found| found.range.start);
                    assert_eq!(
                        found,
                        theirs.find(text).map(|found| found.start()),
                        "{pattern} on {text}"
                    );
                }
            }
        }
    }
}

/// Both engines answer the same, also from a place in the middle.
#[test]
fn a_long_text_is_searched_as_a_short_one_is() {
    let patterns = [
        "z",
        "b1",
        "[0-9]x",
        "a.*z",
        "(a|b|1){1,200}z",
        "^b",
        "a$",
        "x*",
        "z|b1a",
        "(ab1){3,}",
        "1a|x.*y",
    ];
    let mut prng = mote_common::prng::Prng::new(11);
    for pattern in patterns {
        for options in ["", "n", "i"] {
            let mut parsed = Options::default();
            options.chars().for_each(|letter| assert!(parsed.apply(letter)));
            let syntax = parser::parse(pattern, parsed).unwrap().syntax;
            let prefilter = prefilter::build(&syntax).unwrap();
            for round in 0..20 {
                let letters = ["ab1", "ä", "\n", "z", "x", "y"];
                let text: String = (0..prng.below(60))
                    .map(|_| letters[prng.below(1 + round % 6) as usize])
                    .collect();
                let starts = (0..=text.len()).filter(|&at| text.is_char_boundary(at));
                for from in starts {
                    let (short, long) = prefilter.both(&text, from);
                    assert_eq!(short, long, "{pattern} with {options} on {text:?} from {from}");
                }
            }
        }
    }
}

#[test]
fn a_search_of_a_long_text_finds_what_stands_at_its_end() {
    let text = "ab1".repeat(long::LONG_BYTES) + "z9";
    for (pattern, start) in [
        ("z[0-9]", text.len() - 2),
        ("a.*z", 0),
        ("[xyz]\\d$", text.len() - 2),
    ] {
        let found = Regex::new(pattern, Options::default()).unwrap();
        assert!(found.is_match(&text).unwrap(), "{pattern}");
        assert_eq!(
            found.prefilter.as_ref().unwrap().find_start(&text, 0).unwrap(),
            Some(start)
        );
    }
}
