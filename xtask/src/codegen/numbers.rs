//! Checks the ranges of numbers at the top of the API table, so that a new call's number can be read
//! there: each range's next number, and the numbers of calls that no longer exist.

use super::model::Table;
use std::ops::RangeInclusive;

/// A range of call numbers, and the next unused number, if the range isn't full.
type Range = (RangeInclusive<u32>, Option<u32>);

/// Checks the ranges in the comments of `text` against the calls in `table`.
pub fn check(text: &str, table: &Table) -> Result<(), String> {
    let (mut ranges, mut retired) = (Vec::<Range>::new(), Vec::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["#", "retired", ref numbers @ ..] => {
                retired.extend(numbers.iter().flat_map(|n| n.parse::<u32>()))
            }
            ["#", numbers, "next", next, ..] => ranges.push(range(numbers, next)?),
            _ => {}
        }
    }
    if let Some(pair) = ranges.windows(2).find(|pair| pair[0].0.end() >= pair[1].0.start()) {
        return Err(format!("the ranges {:?} and {:?} overlap", pair[0].0, pair[1].0));
    }
    let used = table.entries.iter().map(|entry| entry.number);
    for number in used.clone() {
        if retired.contains(&number) {
            return Err(format!("call {number} is in the list of retired numbers"));
        }
        if !ranges.iter().any(|(range, _)| range.contains(&number)) {
            return Err(format!("call {number} is in none of the ranges at the top of the table"));
        }
    }
    let taken: Vec<u32> = used.chain(retired).collect();
    for (range, listed) in &ranges {
        let last = taken.iter().filter(|number| range.contains(number)).max();
        let next = last.map_or(*range.start(), |last| last + 1);
        let next = range.contains(&next).then_some(next);
        if next != *listed {
            let next = next.map_or("full".to_owned(), |next| next.to_string());
            return Err(format!(
                "the range {}-{} says `next` {}, but the next number is {next}: correct the list at \
                 the top of the table",
                range.start(),
                range.end(),
                listed.map_or("full".to_owned(), |listed| listed.to_string()),
            ));
        }
    }
    Ok(())
}

/// Parses `FIRST-LAST` and a number or `full`.
fn range(numbers: &str, next: &str) -> Result<Range, String> {
    let parse = |text: &str| text.parse().map_err(|_| format!("expected a number, found {text}"));
    let (first, last) =
        numbers.split_once('-').ok_or(format!("expected a range of numbers, found {numbers}"))?;
    let next = if next == "full" { None } else { Some(parse(next)?) };
    Ok((parse(first)?..=parse(last)?, next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::parse::parse;

    fn checked(list: &str) -> Result<(), String> {
        let call =
            |number, name| format!("{number} waited free order=none charges=none {name}()\n");
        let text = format!("{list}\n{}{}", call(1, "vcudaF"), call(12, "vcudaG"));
        check(&text, &parse(&text)?)
    }

    #[test]
    fn the_list_agrees_with_the_calls() {
        assert_eq!(
            checked("#   1-1 next full\n#   10-20 next 13 things\n#   30-40 next 30"),
            Ok(())
        );
        assert_eq!(checked("#   1-9 next 3\n#   10-20 next 13\n#   retired 2"), Ok(()));
    }

    #[test]
    fn mistakes_are_named() {
        for (list, message) in [
            (
                "#   1-9 next 2\n#   10-20 next 12",
                "10-20 says `next` 12, but the next number is 13",
            ),
            (
                "#   1-9 next full\n#   10-20 next 13",
                "1-9 says `next` full, but the next number is 2",
            ),
            ("#   1-1 next 2\n#   10-20 next 13", "1-1 says `next` 2, but the next number is full"),
            ("#   1-9 next 2\n#   10-11 next 10", "call 12 is in none of the ranges"),
            ("#   1-9 next 2\n#   9-20 next 13", "overlap"),
            (
                "#   1-9 next 2\n#   10-20 next 13\n#   retired 12",
                "call 12 is in the list of retired",
            ),
            ("#   1-9 next 3\n#   10-20 next 13", "1-9 says `next` 3, but the next number is 2"),
            ("#   1-9 next two", "expected a number, found two"),
            ("#   many next 2", "expected a range of numbers, found many"),
        ] {
            let error = checked(list).expect_err(list);
            assert!(error.contains(message), "{list}: {error}");
        }
    }
}
