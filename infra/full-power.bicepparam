// Full power: as fast as one storage account allows. Beyond these values, the table throttles at 20,000
// entities a second. At rest, the main cost is still storage.
using 'main.bicep'

param name = readEnvironmentVariable('DEPLOY_NAME', 'hibp')
param sqlAdminName = readEnvironmentVariable('DEPLOY_SQL_ADMIN_NAME')
param sqlAdminObjectId = readEnvironmentVariable('DEPLOY_SQL_ADMIN_ID')
param sqlAdminType = readEnvironmentVariable('DEPLOY_SQL_ADMIN_TYPE', 'User')
param operatorObjectId = readEnvironmentVariable('DEPLOY_OPERATOR_ID', '')
param operatorType = readEnvironmentVariable('DEPLOY_OPERATOR_TYPE', 'User')
param dropperObjectId = readEnvironmentVariable('DEPLOY_DROPPER_ID', '')
param dropperType = readEnvironmentVariable('DEPLOY_DROPPER_TYPE', 'User')
param hashesDropperObjectId = readEnvironmentVariable('DEPLOY_PASSWORDS_DROPPER_ID', '')
param hashesDropperType = readEnvironmentVariable('DEPLOY_PASSWORDS_DROPPER_TYPE', 'User')
param mail = readEnvironmentVariable('HIBP_MAIL')
param mailFrom = readEnvironmentVariable('HIBP_MAIL_FROM', '')
param secretKey = readEnvironmentVariable('HIBP_SECRET_KEY', '')
param suppressionKey = readEnvironmentVariable('HIBP_SUPPRESSION_KEY', '')
param serviceName = readEnvironmentVariable('HIBP_SERVICE_NAME', '')
param serviceAddress = readEnvironmentVariable('HIBP_SERVICE_ADDRESS', '')
param serviceContact = readEnvironmentVariable('HIBP_SERVICE_CONTACT', '')
param serviceLogo = readEnvironmentVariable('HIBP_SERVICE_LOGO', '')
param unsubscribeMailto = readEnvironmentVariable('HIBP_UNSUBSCRIBE_MAILTO', '')
param dkimDomain = readEnvironmentVariable('HIBP_DKIM_DOMAIN', '')
param dkimSelector = readEnvironmentVariable('HIBP_DKIM_SELECTOR', '')
param dkimKey = readEnvironmentVariable('HIBP_DKIM_KEY', '')
param alertEmail = readEnvironmentVariable('DEPLOY_ALERT_EMAIL', '')

// Two cores per instance. The 50 million accounts that dedupe remembers take 1.2 GB of an ingest's 4 GB.
param instanceMemoryMB = 4096
param maximumInstanceCount = 100
// No instance is kept warm: a cold start takes seconds, and one warm instance of this size costs about 40
// dollars a month while idle.
param alwaysReady = []
param queueBatchSize = 16
param transactionsInFlight = 16
// At this size a mistake reaches all subscribers within the hour, so mails wait: an operator reviews the
// recipients, then runs hibp mail release.
param notify = 'hold'

param web = bool(readEnvironmentVariable('DEPLOY_WEB', 'true'))
param webUrl = readEnvironmentVariable('HIBP_WEB_URL', '')
param linkKeys = readEnvironmentVariable('HIBP_LINK_KEYS', '')
param ticketKey = readEnvironmentVariable('HIBP_TICKET_KEY', '')
param commandKey = readEnvironmentVariable('HIBP_COMMAND_KEY', '')
param commandPublicKey = readEnvironmentVariable('HIBP_COMMAND_PUBLIC_KEY', '')
param webInstanceMemoryMB = 2048
param webMaximumInstanceCount = 40
param webConcurrency = 100
// A cold start takes seconds. If clients can't wait for it, keep one instance warm:
// [{ name: 'http', instanceCount: 1 }].
param webAlwaysReady = []
param secondLocation = readEnvironmentVariable('DEPLOY_SECOND_LOCATION', '')

// The log rate limits bulk copy. It grows with the vCores but stops well below 40; matching uses the
// remaining vCores.
param sqlMaxVCores = 40
param sqlMinVCores = '5'
param sqlAutoPauseMinutes = 60
param sqlMaxSizeGB = 250

// Replicated across three zones of the region.
param storageSku = 'Standard_ZRS'
param logDailyCapGB = -1
