//! Pages that are pinned for registered memory that lies in a single page.
//!
//! Programs register small buffers from `malloc`, many of which can be in one page. All buffers in
//! a page use the same region, so that the page is pinned and charged only once. Memory that spans
//! several pages has its own region. It can share only its first and its last page with other
//! memory. If its region were shared, its other pages could stay pinned after it was unregistered.

use std::collections::BTreeMap;

struct Page {
    region: u32,
    /// The number of registrations that use the region. At least 1.
    registrations: usize,
}

/// The pages that are pinned for registered memory that lies in a single page, by address.
#[derive(Default)]
pub struct SinglePages(BTreeMap<usize, Page>);

impl SinglePages {
    /// Adds a registration in a page. Returns the page's region. If the page isn't pinned for other
    /// registered memory yet, calls `pin`, which attaches a region.
    pub fn join<E>(&mut self, page: usize, pin: impl FnOnce() -> Result<u32, E>) -> Result<u32, E> {
        if let Some(found) = self.0.get_mut(&page) {
            found.registrations += 1;
            return Ok(found.region);
        }
        let region = pin()?;
        self.0.insert(page, Page { region, registrations: 1 });
        Ok(region)
    }

    /// Removes a registration in a page. Returns whether the caller must release the page's region,
    /// because no other registration uses it.
    pub fn leave(&mut self, page: usize) -> bool {
        let Some(found) = self.0.get_mut(&page) else { return false };
        found.registrations -= 1;
        let unused = found.registrations == 0;
        if unused {
            self.0.remove(&page);
        }
        unused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrations_in_one_page_share_its_region() {
        let mut pages = SinglePages::default();
        assert_eq!(pages.join(0x1000, || Ok::<_, ()>(7)), Ok(7));
        assert_eq!(pages.join(0x1000, || Err(())), Ok(7));
        assert_eq!(pages.join(0x2000, || Err(())), Err(()));
        assert!(!pages.leave(0x2000));
        assert_eq!(pages.join(0x2000, || Ok::<_, ()>(8)), Ok(8));
        assert!(!pages.leave(0x1000));
        assert!(pages.leave(0x1000));
        assert_eq!(pages.join(0x1000, || Ok::<_, ()>(9)), Ok(9));
        assert!(pages.leave(0x1000) && pages.leave(0x2000));
    }
}
