// The smallest deployment that works: while no breach is being loaded, nothing runs, and only storage is
// billed.
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

// A quarter of a core per instance. Each function scales separately, so the maximum leaves at least one
// instance for each.
param instanceMemoryMB = 512
param maximumInstanceCount = 16
param alwaysReady = []
// The host shares the 512 MB: an instance takes two slices at a time, and dedupe remembers at most 48 MB of
// accounts (main.bicep). SQL and the table remove the duplicates beyond that cap.
param queueBatchSize = 2
param transactionsInFlight = 8
param notify = 'send'

// A quarter of a core per instance is enough: requests wait for the storage account.
param web = bool(readEnvironmentVariable('DEPLOY_WEB', 'true'))
param webUrl = readEnvironmentVariable('HIBP_WEB_URL', '')
param linkKeys = readEnvironmentVariable('HIBP_LINK_KEYS', '')
param ticketKey = readEnvironmentVariable('HIBP_TICKET_KEY', '')
param commandKey = readEnvironmentVariable('HIBP_COMMAND_KEY', '')
param commandPublicKey = readEnvironmentVariable('HIBP_COMMAND_PUBLIC_KEY', '')
param webInstanceMemoryMB = 512
param webMaximumInstanceCount = 4
param webConcurrency = 20
param webAlwaysReady = []
param secondLocation = readEnvironmentVariable('DEPLOY_SECOND_LOCATION', '')

param sqlMaxVCores = 1
param sqlMinVCores = '0.5'
param sqlAutoPauseMinutes = 60
param sqlMaxSizeGB = 32
param sqlFreeOffer = bool(readEnvironmentVariable('DEPLOY_SQL_FREE_OFFER', 'false'))

param storageSku = 'Standard_LRS'
param logDailyCapGB = 1
