//! Collects the names that an item defines, and the paths that its code mentions.

use proc_macro2::{Delimiter, Ident, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{ForeignItem, Item};

/// A path mentioned in a module's code. A plain name is a path with one segment. The name of a
/// macro ends with `!`.
#[derive(Debug, PartialEq, Eq)]
pub struct Mention {
    pub path: Vec<String>,
    pub line: usize,
}

/// Returns an identifier as text, without the `r#` of a raw identifier.
pub fn name_of(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").unwrap_or(&name).to_owned()
}

/// Returns whether the item exists only in test builds.
pub fn is_for_tests(item: &Item) -> bool {
    let tokens: Vec<TokenTree> = item.to_token_stream().into_iter().collect();
    let mut at = 0;
    while let Some((condition, next)) = attribute(&tokens, at) {
        if condition {
            return true;
        }
        at = next;
    }
    false
}

/// Returns the names that an item defines and that other modules can use.
pub fn defined_names(item: &Item) -> Vec<String> {
    let one = |ident: &Ident| vec![name_of(ident)];
    match item {
        Item::Const(item) => one(&item.ident),
        Item::Enum(item) => one(&item.ident),
        Item::Fn(item) => one(&item.sig.ident),
        Item::Static(item) => one(&item.ident),
        Item::Struct(item) => one(&item.ident),
        Item::Trait(item) => one(&item.ident),
        Item::TraitAlias(item) => one(&item.ident),
        Item::Type(item) => one(&item.ident),
        Item::Union(item) => one(&item.ident),
        Item::ForeignMod(block) => block
            .items
            .iter()
            .filter_map(|item| match item {
                ForeignItem::Fn(item) => Some(name_of(&item.sig.ident)),
                ForeignItem::Static(item) => Some(name_of(&item.ident)),
                ForeignItem::Type(item) => Some(name_of(&item.ident)),
                _ => None,
            })
            .collect(),
        Item::Macro(item) => match &item.ident {
            Some(ident) => vec![format!("{}!", name_of(ident))],
            // A macro call in item position may define items.
            None => {
                let mut names = Vec::new();
                collect_definitions(item.mac.tokens.clone(), &mut names);
                names
            }
        },
        _ => Vec::new(),
    }
}

/// Adds the names that follow a keyword such as `fn` or `struct`, at any depth.
fn collect_definitions(stream: TokenStream, names: &mut Vec<String>) {
    const KEYWORDS: [&str; 8] =
        ["const", "enum", "fn", "static", "struct", "trait", "type", "union"];
    let mut defines = false;
    for token in stream {
        match token {
            TokenTree::Ident(word) if defines => {
                names.push(name_of(&word));
                defines = false;
            }
            TokenTree::Ident(word) => defines = KEYWORDS.contains(&word.to_string().as_str()),
            TokenTree::Group(group) => {
                defines = false;
                collect_definitions(group.stream(), names);
            }
            _ => defines = false,
        }
    }
}

/// Adds the paths in an item, including those in macro arguments.
pub fn collect_mentions(item: &Item, mentions: &mut Vec<Mention>) {
    collect(item.to_token_stream(), mentions);
}

fn collect(stream: TokenStream, mentions: &mut Vec<Mention>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        if let Some((only_tests, next)) = attribute(&tokens, at) {
            at = if only_tests { end_of_annotated(&tokens, next) } else { next };
            continue;
        }
        match &tokens[at] {
            TokenTree::Group(group) => {
                collect(group.stream(), mentions);
                at += 1;
            }
            TokenTree::Punct(mark) if mark.as_char() == '\'' => at += 2,
            TokenTree::Ident(_) if follows_member_dot(&tokens, at) => at += 1,
            TokenTree::Ident(_) => at = collect_path(&tokens, at, Vec::new(), mentions),
            _ => at += 1,
        }
    }
}

/// Adds the path or tree of paths that starts at `tokens[at]`. Returns the index after it.
fn collect_path(
    tokens: &[TokenTree],
    mut at: usize,
    mut path: Vec<String>,
    mentions: &mut Vec<Mention>,
) -> usize {
    let line = tokens[at].span().start().line;
    // A path that begins with `::` names another crate or, after `>`, an associated item.
    let is_continuation = path.is_empty() && is_separator(tokens, at.wrapping_sub(2));
    let mut branches = false;
    while let Some(token) = tokens.get(at) {
        match token {
            TokenTree::Ident(segment) => path.push(name_of(segment)),
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                branches = true;
                if !is_continuation {
                    collect_branches(group.stream(), &path, mentions);
                }
            }
            _ => break,
        }
        at += 1;
        let continues = matches!(
            tokens.get(at + 2),
            Some(TokenTree::Ident(_) | TokenTree::Group(_)) if is_separator(tokens, at)
        );
        if branches || !continues {
            break;
        }
        at += 2;
    }
    if !branches && !is_continuation {
        if is_macro_name(tokens, at)
            && let Some(name) = path.last_mut()
        {
            name.push('!');
        }
        mentions.push(Mention { path, line });
    }
    at
}

/// Adds the paths in the braces of a `use` declaration inside a function.
fn collect_branches(stream: TokenStream, prefix: &[String], mentions: &mut Vec<Mention>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(word) if word == "as" => at += 2,
            TokenTree::Ident(_) => at = collect_path(&tokens, at, prefix.to_vec(), mentions),
            _ => at += 1,
        }
    }
}

/// Returns whether `tokens[at]` and the next token form `::`.
fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
    let joined =
        matches!(tokens.get(at), Some(TokenTree::Punct(mark)) if mark.spacing() == Spacing::Joint);
    joined && is_colon(tokens.get(at)) && is_colon(tokens.get(at.wrapping_add(1)))
}

/// Returns whether the path that ends before `tokens[at]` is the name of a macro.
fn is_macro_name(tokens: &[TokenTree], at: usize) -> bool {
    matches!(
        tokens.get(at),
        Some(TokenTree::Punct(mark)) if mark.as_char() == '!' && mark.spacing() == Spacing::Alone
    )
}

/// Returns whether the identifier at `at` is a field or method, which means that it follows a dot
/// that isn't part of a range operator.
fn follows_member_dot(tokens: &[TokenTree], at: usize) -> bool {
    let is_dot = |index: Option<usize>| {
        matches!(
            index.and_then(|index| tokens.get(index)),
            Some(TokenTree::Punct(mark)) if mark.as_char() == '.'
        )
    };
    is_dot(at.checked_sub(1)) && !is_dot(at.checked_sub(2))
}

/// Parses the attribute at `at`, if there is one. Returns whether it limits the following item to
/// test builds, and the index after the attribute.
fn attribute(tokens: &[TokenTree], at: usize) -> Option<(bool, usize)> {
    match tokens.get(at)? {
        TokenTree::Punct(mark) if mark.as_char() == '#' => {}
        _ => return None,
    }
    let is_inner = matches!(tokens.get(at + 1)?, TokenTree::Punct(mark) if mark.as_char() == '!');
    let at = at + 1 + usize::from(is_inner);
    let TokenTree::Group(group) = tokens.get(at)? else { return None };
    if group.delimiter() != Delimiter::Bracket {
        return None;
    }
    let content: Vec<TokenTree> = group.stream().into_iter().collect();
    let only_tests = match content.as_slice() {
        [TokenTree::Ident(word), TokenTree::Group(condition)] if word == "cfg" => {
            requires_test(condition.stream())
        }
        _ => false,
    };
    Some((only_tests, at + 1))
}

/// Returns whether the condition of a `cfg` requires `test`: it contains `test` outside `not` and
/// `any`.
fn requires_test(condition: TokenStream) -> bool {
    let mut inside_all = false;
    for token in condition {
        match token {
            TokenTree::Ident(word) if word == "test" => return true,
            TokenTree::Ident(word) => inside_all = word == "all",
            TokenTree::Group(group) if inside_all && requires_test(group.stream()) => return true,
            _ => {}
        }
    }
    false
}

/// Returns the index after the item, statement or field to which the attributes before `at` belong.
fn end_of_annotated(tokens: &[TokenTree], mut at: usize) -> usize {
    while let Some((_, next)) = attribute(tokens, at) {
        at = next;
    }
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Punct(mark) if matches!(mark.as_char(), ';' | ',') => break,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => break,
            _ => {}
        }
    }
    at
}
