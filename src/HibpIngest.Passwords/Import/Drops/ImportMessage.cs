namespace HibpIngest.Passwords.Import.Drops;

/// <summary>A group of a dropped file to import.</summary>
/// <param name="Release">The release that it goes into (<see cref="ReleaseKey"/>).</param>
/// <param name="Plan">The plan that it belongs to; nothing is done once the file has another one.</param>
/// <param name="Group">The group, from 0 to 255.</param>
[Queue(QueueNames.PasswordsImport)]
public sealed record ImportMessage(string Release, HashMode Mode, string Plan, int Group) : WorkMessage
{
    protected override bool IsComplete() => Release is not null && Plan is not null && Group is >= 0 and < PasswordNames.Groups;
}
