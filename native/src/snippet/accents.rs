//! The letters that lose their accent when texts are compared, as `_accent_table` in `search/snippet.py` has them.

use std::sync::OnceLock;

/// Plain letters, each followed by its forms with accents; a space ends each group.
const GROUPS: &str = "\
    aàáâãäåāăąǎǟǡǻȁȃȧḁạảấầẩẫậắằẳẵặ bḃḅḇ cçćĉċčḉ dðďđḋḍḏḑḓ eèéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ fḟ gĝğġģǧǵḡ \
    hĥħȟḣḥḧḩḫẖ iìíîïĩīĭįıǐȉȋḭḯỉị jĵǰ kķǩḱḳḵ lĺļľŀłḷḹḻḽ mḿṁṃ nñńņňǹṅṇṉṋ \
    oòóôõöøōŏőơǒǫǭǿȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ pṕṗ rŕŗřȑȓṙṛṝṟ sśŝşšſșṡṣṥṧṩẛ tţťŧțṫṭṯṱẗ \
    uùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự vṽṿ wŵẁẃẅẇẉẘ xẋẍ yýÿŷȳẏẙỳỵỷỹ zźżžẑẓẕ ʒǯ ʹʹ ͅͺ Υϒϓϔ \
    αάἀἁἂἃἄἅἆἇὰάᾀᾁᾂᾃᾄᾅᾆᾇᾰᾱᾲᾳᾴᾶᾷ βϐ εέϵἐἑἒἓἔἕὲέ ηήἠἡἢἣἤἥἦἧὴήᾐᾑᾒᾓᾔᾕᾖᾗῂῃῄῆῇ θϑ ιΐίϊἰἱἲἳἴἵἶἷὶίιῐῑῒΐῖῗ κϰ \
    οόὀὁὂὃὄὅὸό πϖ ρϱῤῥ ςϲ υΰϋύὐὑὒὓὔὕὖὗὺύῠῡῢΰῦῧ φϕ ωώὠὡὢὣὤὥὦὧὼώᾠᾡᾢᾣᾤᾥᾦᾧῲῳῴῶῷ аӑӓ гѓ еѐёӗ жӂӝ зӟ ийѝӣӥ \
    кќ оӧ уўӯӱӳ чӵ ыӹ эӭ ії ѵѷ әӛ өӫ";

const FIRST: usize = 0xc0;
const SIZE: usize = 0x2000 - FIRST;

fn table() -> &'static [char; SIZE] {
    static TABLE: OnceLock<Box<[char; SIZE]>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut plain_letters = Box::new(['\0'; SIZE]);
        for group in GROUPS.split_whitespace() {
            let mut letters = group.chars();
            let plain = letters.next().unwrap_or('\0');
            for letter in letters {
                plain_letters[letter as usize - FIRST] = plain;
            }
        }
        plain_letters
    })
}

/// Return a lower-case letter without its accent.
pub fn without_accent(letter: char) -> char {
    match (letter as usize)
        .checked_sub(FIRST)
        .and_then(|index| table().get(index))
    {
        None | Some('\0') => letter,
        Some(&plain) => plain,
    }
}
