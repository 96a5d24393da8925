//! Rows of words, as columns of text or as a table of Markdown.

/// The rows with their cells below each other, two spaces apart. Rows need not be equally long.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column));
    let width = |column| cells(column).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..rows.iter().map(Vec::len).max().unwrap_or(0)).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// The rows as a table of Markdown, whose head is the first of them.
pub(crate) fn markdown(rows: &[Vec<String>]) -> String {
    let line = |row: &Vec<String>| {
        let cells: Vec<_> = row.iter().map(|text| cell(text)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let Some((head, body)) = rows.split_first() else { return String::new() };
    let rule = vec!["---".to_owned(); head.len()];
    std::iter::once(head).chain([&rule]).chain(body).map(line).collect()
}

/// A text that ends no cell and no row.
pub(crate) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_below_each_other_and_end_no_row() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let rows = [row(["arm", "value"]), row(["a|b", "1"]), row(["longer", "x\ny"])];
        assert_eq!(aligned(&rows[..2]), "arm  value\na|b  1\n");
        let table = "| arm | value |\n| --- | --- |\n| a\\|b | 1 |\n| longer | x y |\n";
        assert_eq!(markdown(&rows), table);
    }
}
