namespace HibpIngest.Stores;

public enum JournalMode
{
    /// <summary>Each load is logged once its accounts are in the tables.</summary>
    On,

    /// <summary>Nothing is logged: data that SQL loses or purges can only be rebuilt from the archives.</summary>
    Off,
}
