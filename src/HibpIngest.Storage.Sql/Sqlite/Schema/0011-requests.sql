-- Names a subscription in links; random.
ALTER TABLE subscribers ADD COLUMN link_id TEXT;
UPDATE subscribers SET link_id = (SELECT substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-' || substr(h, 13, 4) || '-' || substr(h, 17, 4)
    || '-' || substr(h, 21) FROM (SELECT lower(hex(randomblob(16))) AS h, subscribers.id));
CREATE UNIQUE INDEX subscribers_by_link ON subscribers (link_id);
ALTER TABLE subscribers ADD COLUMN unknown_count INTEGER NOT NULL DEFAULT 0; -- mails refused in a row, because the address is unknown
-- Subscriptions that nobody has verified yet, and domains that the owners of API keys prove by mail.
CREATE TABLE subscription_requests (
    link_id TEXT NOT NULL PRIMARY KEY, -- of the subscription that it becomes
    email TEXT NOT NULL,
    domain TEXT NOT NULL,              -- empty: the address itself
    api_key TEXT NOT NULL,             -- hash of the API key that gets the domain; empty: it becomes a subscription
    proof TEXT NOT NULL,               -- how the domain is proven; empty: there is none
    expires_at INTEGER NOT NULL,
    UNIQUE (email, domain, api_key)
) WITHOUT ROWID;
CREATE INDEX subscription_requests_expired ON subscription_requests (expires_at);
-- Mails that requests caused, for limits. A key is a hash of an address, network or domain, or a word.
CREATE TABLE request_mails (
    limit_key TEXT NOT NULL,
    sent_at INTEGER NOT NULL
);
CREATE INDEX request_mails_by_key ON request_mails (limit_key, sent_at);
CREATE INDEX request_mails_by_age ON request_mails (sent_at);
-- Commands that were applied, so that a repeated one changes nothing.
CREATE TABLE commands (
    id TEXT NOT NULL PRIMARY KEY,
    link_id TEXT NOT NULL,
    applied_at INTEGER NOT NULL,
    mailed_at INTEGER                  -- null: its mail is due
) WITHOUT ROWID;
CREATE INDEX commands_by_age ON commands (applied_at);
-- Domains that their owners have proven.
CREATE TABLE domain_proofs (
    holder TEXT NOT NULL,              -- hash of an API key, or link_id of a subscription
    domain TEXT NOT NULL,
    kind TEXT NOT NULL,                -- dns, file, or the mailbox of the domain that got a mail
    checked_at INTEGER NOT NULL,
    failed_at INTEGER,                 -- null: the last check succeeded
    PRIMARY KEY (holder, domain)
) WITHOUT ROWID;
