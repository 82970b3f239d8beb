//! The encodings that PostgreSQL knows: numbers, names, and the other spellings of the names.

/// One of PostgreSQL's encodings, by its number there.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Encoding(u8);

/// In the order of PostgreSQL's numbers, with the most bytes that a character takes.
const NAMES: [(&str, u8); 42] = [
    ("SQL_ASCII", 1),
    ("EUC_JP", 3),
    ("EUC_CN", 3),
    ("EUC_KR", 3),
    ("EUC_TW", 4),
    ("EUC_JIS_2004", 3),
    ("UTF8", 4),
    ("MULE_INTERNAL", 4),
    ("LATIN1", 1),
    ("LATIN2", 1),
    ("LATIN3", 1),
    ("LATIN4", 1),
    ("LATIN5", 1),
    ("LATIN6", 1),
    ("LATIN7", 1),
    ("LATIN8", 1),
    ("LATIN9", 1),
    ("LATIN10", 1),
    ("WIN1256", 1),
    ("WIN1258", 1),
    ("WIN866", 1),
    ("WIN874", 1),
    ("KOI8R", 1),
    ("WIN1251", 1),
    ("WIN1252", 1),
    ("ISO_8859_5", 1),
    ("ISO_8859_6", 1),
    ("ISO_8859_7", 1),
    ("ISO_8859_8", 1),
    ("WIN1250", 1),
    ("WIN1253", 1),
    ("WIN1254", 1),
    ("WIN1255", 1),
    ("WIN1257", 1),
    ("KOI8U", 1),
    ("SJIS", 2),
    ("BIG5", 2),
    ("GBK", 2),
    ("UHC", 2),
    ("GB18030", 4),
    ("JOHAB", 3),
    ("SHIFT_JIS_2004", 2),
];

/// Spellings that are not a name without its punctuation, in lower case.
const ALIASES: &[(&str, &str)] = &[
    ("abc", "WIN1258"),
    ("alt", "WIN866"),
    ("iso88591", "LATIN1"),
    ("iso885910", "LATIN6"),
    ("iso885913", "LATIN7"),
    ("iso885914", "LATIN8"),
    ("iso885915", "LATIN9"),
    ("iso885916", "LATIN10"),
    ("iso88592", "LATIN2"),
    ("iso88593", "LATIN3"),
    ("iso88594", "LATIN4"),
    ("iso88599", "LATIN5"),
    ("koi8", "KOI8R"),
    ("mskanji", "SJIS"),
    ("shiftjis", "SJIS"),
    ("tcvn", "WIN1258"),
    ("tcvn5712", "WIN1258"),
    ("unicode", "UTF8"),
    ("vscii", "WIN1258"),
    ("win", "WIN1251"),
    ("win932", "SJIS"),
    ("win936", "GBK"),
    ("win949", "UHC"),
    ("win950", "BIG5"),
];

impl std::fmt::Debug for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Encoding {
    pub const SQL_ASCII: Encoding = Encoding(0);
    pub const UTF8: Encoding = Encoding(6);
    pub const COUNT: usize = NAMES.len();

    pub fn from_number(number: i32) -> Option<Encoding> {
        let number = u8::try_from(number).ok()?;
        ((number as usize) < NAMES.len()).then_some(Encoding(number))
    }

    /// By any of its names: case does not count, nor does what is neither letter nor digit.
    pub fn from_name(name: &str) -> Option<Encoding> {
        let mut bare: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        bare.make_ascii_lowercase();
        // windows1252 is win1252; but there is no plain "windows".
        if let Some(page) = bare.strip_prefix("windows")
            && !page.is_empty()
        {
            bare = format!("win{page}");
        }
        let alias = ALIASES.iter().find(|(alias, _)| *alias == bare);
        let wanted = alias.map_or(bare.as_str(), |(_, name)| name);
        let letters = |name: &str| name.replace('_', "").to_ascii_lowercase();
        let wanted = letters(wanted);
        let position = NAMES.iter().position(|(name, _)| letters(name) == wanted)?;
        Some(Encoding(position as u8))
    }

    pub fn number(self) -> i32 {
        self.0 as i32
    }

    pub fn name(self) -> &'static str {
        NAMES[self.0 as usize].0
    }

    /// The most bytes that one character takes.
    pub fn character_bytes_max(self) -> usize {
        NAMES[self.0 as usize].1 as usize
    }
}
