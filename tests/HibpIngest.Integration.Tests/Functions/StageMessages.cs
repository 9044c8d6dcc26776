using HibpIngest.Passwords.Import.Drops;

namespace HibpIngest.Integration.Tests.Functions;

internal static class StageMessages
{
    /// <summary>A message for each queue, on which its stage works if load 1 exists.</summary>
    public static IReadOnlyDictionary<string, string> Each { get; } = new Dictionary<string, string>
    {
        [QueueNames.Ingest] = """{"load":1}""",
        [QueueNames.Slices] = """{"load":1,"slice":1}""",
        [QueueNames.Match] = """{"load":1}""",
        [QueueNames.Mail] = """{"load":1,"first":1,"last":1}""",
        [QueueNames.Journal] = """{"load":1}""",
        [QueueNames.Calls] = """{"load":1,"slice":1}""",
        [QueueNames.Callbacks] = """{"client":1}""",
        [QueueNames.PasswordsImport] = new ImportMessage("202611", HashMode.Sha1, "x", 0).ToJson(),
        [QueueNames.PasswordsAppend] = """{"subscription":"x","transaction":"11111111-1111-1111-1111-111111111111"}""",
        [QueueNames.AccessRollUp] = """{"blob":"2026/11/01/00-x"}""",
        [QueueNames.Commands] = """{"sealed":"x"}""",
    };
}
