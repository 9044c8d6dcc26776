using HibpIngest.Lookup;
using HibpIngest.Messages;
using HibpIngest.Passwords;
using HibpIngest.Stores;

namespace HibpIngest.Web;

/// <summary>What the API reads, and the little that it writes: tables and blobs, never a database.</summary>
public sealed record WebStores
{
    public required ICatalogueBlobs Catalogue { get; init; }

    public required IAccountReads Accounts { get; init; }

    public required IRangeReads Ranges { get; init; }

    /// <summary>What both go by: which layout is read.</summary>
    public required LayoutReads Layout { get; init; }

    public required IApiKeys Keys { get; init; }

    public required PasswordStores Passwords { get; init; }

    /// <summary>Hashes that were handed in, to be added to the passwords: written by it.</summary>
    public required IPasswordAppends Appends { get; init; }

    /// <summary>The queue <see cref="QueueNames.PasswordsAppend"/>: what was handed in and confirmed is sent there.</summary>
    public required IMessageQueue AppendQueue { get; init; }

    /// <summary>The prefixes that clients of callbacks watch: written by it.</summary>
    public required IPrefixBlobs Prefixes { get; init; }

    /// <summary>Where each request is logged: written by it.</summary>
    public required IAccessBlobs AccessLog { get; init; }

    /// <summary>A copy of the passwords that is read first; null: there is none.</summary>
    public PasswordStores? NearestPasswords { get; init; }
}
