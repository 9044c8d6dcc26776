using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Mail;

namespace HibpIngest.Pipeline.Matching;

/// <summary>Sends the messages of the stages after a match: the load's mails, its journal, and callbacks.</summary>
public sealed record LoadSchedules(MailSchedule Mails, JournalSchedule Journal, CallSchedule Calls);
