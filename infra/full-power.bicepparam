// Full power: as fast as one storage account takes it. More than this only gets throttled by the table's 20,000 entities a second. It still costs little but storage at rest.
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

// Two cores each. The 50 million accounts that dedupe remembers take 1.2 GB of the ingest's 4.
param instanceMemoryMB = 4096
param maximumInstanceCount = 100
// None is kept warm: a cold start takes seconds, and one of these would cost about 40 dollars a month while nothing is loaded.
param alwaysReady = []
param queueBatchSize = 16
param transactionsInFlight = 16
// At this size a mistake reaches everybody within the hour: an operator looks at who would be told, then says hibp mail release.
param notify = 'hold'

param web = bool(readEnvironmentVariable('DEPLOY_WEB', 'true'))
param webUrl = readEnvironmentVariable('HIBP_WEB_URL', '')
param webInstanceMemoryMB = 2048
param webMaximumInstanceCount = 40
param webConcurrency = 100
// A cold start takes seconds, and a client may not wait for it: [{ name: 'http', instanceCount: 1 }] keeps one warm.
param webAlwaysReady = []
param secondLocation = readEnvironmentVariable('DEPLOY_SECOND_LOCATION', '')

// The log, which bulk copy fills, is written at a rate that grows with the vCores and ends well before 40; matching uses the rest.
param sqlMaxVCores = 40
param sqlMinVCores = '5'
param sqlAutoPauseMinutes = 60
param sqlMaxSizeGB = 250

// Three zones of the region.
param storageSku = 'Standard_ZRS'
param logDailyCapGB = -1
