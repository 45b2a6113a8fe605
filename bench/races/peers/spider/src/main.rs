//! Spider on the same site, for comparison: links extracted and followed only. Prints one line of JSON.

use spider::website::Website;

#[tokio::main]
async fn main() {
    let url = std::env::args().nth(1).expect("a URL");
    let mut website = Website::new(&url);
    website.with_delay(0).with_concurrency_limit(Some(32)).with_limit(0);
    website.crawl_raw().await;
    println!("{{\"pages\": {}}}", website.get_size().await);
}
