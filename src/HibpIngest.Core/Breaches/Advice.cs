namespace HibpIngest.Breaches;

/// <summary>Sentences that depend on a breach's flags and data classes, shared by mails and pages.</summary>
public static class Advice
{
    private static readonly (BreachFlags Flag, string Text)[] FlagNotes =
    [
        (BreachFlags.Fabricated, "This breach is fabricated: its data is known to be made up, wholly or in part. An address in it need not "
            + "belong to an account there."),
        (BreachFlags.Malware, "This data was collected by malware: harmful software, run on the devices of the people it was taken from."),
        (BreachFlags.StealerLog, "This data comes from stealer logs: what harmful software recorded while people signed in to websites, as "
            + "a rule with the passwords they typed."),
        (BreachFlags.SpamList, "This is a spam list: addresses gathered for sending unwanted mail. Being on it does not mean that an "
            + "account was broken into."),
    ];

    /// <summary>Returns notes about the data. The flags sensitive, retired and subscription-free add none.</summary>
    public static IReadOnlyList<string> Notes(BreachFlags flags)
    {
        var notes = new List<string>();
        if (!flags.HasFlag(BreachFlags.Verified))
            notes.Add(
                "This breach is unverified: nobody has confirmed that the data is genuine, or that it comes from the named source.");
        notes.AddRange(FlagNotes.Where(note => flags.HasFlag(note.Flag)).Select(note => note.Text));
        return notes;
    }

    /// <summary>Returns what the owner of an address can do, the most urgent first.</summary>
    public static IReadOnlyList<string> ForPerson(BreachMetadata metadata, string title, string? site)
    {
        var (flags, exposed) = (metadata.Flags, Exposed.Of(metadata));
        var steps = new List<string>();
        if (IsFromDevices(flags))
            steps.AddRange(
                "Have the devices that you use checked for malware before anything else: a new password typed on an infected one is "
                + "lost as well.",
                "Then change the password of your mail account, and of every site where you sign in with this address.");
        else if (flags.HasFlag(BreachFlags.SpamList))
            steps.Add("No password needs to be changed because of this list alone.");
        else if (!exposed.Passwords)
            steps.Add("No password is known to be in this data: none needs to be changed because of it.");
        else
            steps.Add($"Change your password at {Place(title, site)}, if you have an account there.");
        if (IsFromDevices(flags) || (!flags.HasFlag(BreachFlags.SpamList) && exposed.Passwords))
            steps.Add("Change your password everywhere else you used the same or a similar one, and use a different one for each site; a "
                + "password manager remembers them for you.");
        if (exposed.Answers)
            steps.Add("Change the security questions, or their answers, that you also use elsewhere: anyone who knows them can get past a "
                + "password.");
        if (exposed.Money)
            steps.Add("Check the statements of your cards and accounts, and have your bank replace what was in this data.");
        if (exposed.Papers)
            steps.Add("Watch for contracts and accounts in your name: this data may be enough for someone to impersonate you.");
        if (exposed.Phones)
            steps.Add("Expect fraudulent calls and text messages, too; no bank or office asks for a code by phone.");
        steps.Add("Turn on two-step verification wherever it is offered, for your mail account first.");
        steps.Add("Be wary of messages that mention this breach or press you to act: go to the site yourself instead of following a link.");
        return steps;
    }

    public static IReadOnlyList<string> ForDomain(BreachMetadata metadata, string title, string? site)
    {
        var (flags, exposed) = (metadata.Flags, Exposed.Of(metadata));
        var steps = new List<string> { "Tell the people whose addresses these are." };
        if (IsFromDevices(flags))
            steps.Add("Have their devices checked for malware before passwords are changed on them, then change the passwords and end the "
                + "sessions of these accounts in your own systems.");
        else if (flags.HasFlag(BreachFlags.SpamList))
            steps.Add(
                "No password needs to be changed because of this list alone; expect more unwanted and fraudulent mail to these addresses.");
        else if (!exposed.Passwords)
            steps.Add("No password is known to be in this data: none needs to be changed because of it.");
        else
            steps.Add($"Ask them to change their password at {Place(title, site)}, and wherever else they used the same one or one like "
                + "it, your own systems included.");
        if (exposed.Money || exposed.Papers || exposed.Answers)
            steps.Add("Have them check what was exposed: payment details, papers and security answers can be used in their name.");
        steps.Add("Require two-step verification for the accounts that these addresses sign in to.");
        steps.Add("Look out for unexplained sign-ins, and for fraudulent mail that mentions this breach.");
        return steps;
    }

    private static bool IsFromDevices(BreachFlags flags) => (flags & (BreachFlags.Malware | BreachFlags.StealerLog)) != BreachFlags.None;

    private static string Place(string title, string? site) =>
        site is null || title.Equals(site, StringComparison.OrdinalIgnoreCase) ? title : $"{title} ({site})";

    private readonly record struct Exposed(bool Passwords, bool Answers, bool Money, bool Papers, bool Phones)
    {
        public static Exposed Of(BreachMetadata metadata)
        {
            var classes = metadata.DataClasses;
            // If a breach has no data classes, passwords are assumed to be exposed.
            return new Exposed(
                classes.Count == 0 || classes.Any(IsPin) || Has("password", "auth token", "credential"), Has("security question"),
                Has("credit card", "bank account", "payment", "card number"),
                Has("passport", "government issued", "social security", "driver", "national id", "tax"), Has("phone"));

            bool Has(params string[] words) =>
                words.Any(word => classes.Any(one => one.Contains(word, StringComparison.OrdinalIgnoreCase)));
        }

        private static bool IsPin(string text) =>
            text.Equals("PINs", StringComparison.OrdinalIgnoreCase) || text.Equals("PIN", StringComparison.OrdinalIgnoreCase);
    }
}
