// Everything that HibpIngest needs in a resource group, except the event subscriptions: they need the app's
// code to run, so deploy.sh deploys events.bicep afterwards. Sizes are in smallest.bicepparam and
// full-power.bicepparam. Names of queues, containers and tables must match the code's, verified by a test.
targetScope = 'resourceGroup'

@description('Prefix of all names. Names that must be unique in Azure also get a hash of the resource group as a suffix.')
@minLength(3)
@maxLength(11)
param name string = 'hibp'

@description('Azure region. It must offer Flex Consumption: az functionapp list-flexconsumption-locations.')
param location string = resourceGroup().location

@description('Administrator of the SQL server: display name, object id and type of a user, group or service principal. There is no SQL login.')
param sqlAdminName string
param sqlAdminObjectId string
@allowed(['User', 'Group', 'Application'])
param sqlAdminType string = 'User'

@description('Operator, the principal that runs hibp against this deployment. It gets data roles on the account of zips, queues and tables, and none on the host\'s account. deploy.sh grants it access to the database. Empty: none.')
param operatorObjectId string = ''
@allowed(['User', 'Group', 'ServicePrincipal'])
param operatorType string = 'User'

@description('Principal that may only drop breaches, with any storage tool. It gets a role on the container breach only. Empty: only the operator may drop.')
param dropperObjectId string = ''
@allowed(['User', 'Group', 'ServicePrincipal'])
param dropperType string = 'User'

@description('Principal that may only drop files of password hashes, with any storage tool. It gets a role on the container passwords-import only. Empty: only the operator may drop.')
param hashesDropperObjectId string = ''
@allowed(['User', 'Group', 'ServicePrincipal'])
param hashesDropperType string = 'User'

@description('Memory of an instance in MB. 512 comes with a quarter of a core, 2048 with one core, 4096 with two.')
@allowed([512, 2048, 4096])
param instanceMemoryMB int

@description('Maximum number of instances of all functions together. Each function scales separately, so with fewer than one instance per function they wait for each other.')
@minValue(16)
@maxValue(1000)
param maximumInstanceCount int

@description('Instances kept warm: [{ name: \'function:UpsertSlice\', instanceCount: 2 }]. The blob trigger\'s group is called blob. They are billed while idle.')
param alwaysReady array = []

@description('Number of messages of a queue that an instance fetches at a time. It fetches more once half of them are done.')
@minValue(1)
@maxValue(32)
param queueBatchSize int

@description('Maximum number of entity group transactions in flight per slice.')
@minValue(1)
@maxValue(512)
param transactionsInFlight int

@description('Number of accounts remembered for dedupe, 24 bytes each. 0: derived from the memory.')
@minValue(0)
param dedupeCap int = 0

@description('What to do with a load\'s mails after matching. hold: they wait for hibp mail release, even if the zip\'s metadata asks to send them.')
@allowed(['send', 'hold'])
param notify string

@description('Maximum number of vCores of the serverless database. 80 is available in some regions only.')
@allowed([1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 24, 32, 40, 80])
param sqlMaxVCores int

@description('Minimum number of vCores while the database is awake: 0.5 for a maximum of up to 4, otherwise an eighth of the maximum. A string, because Bicep has no fractions.')
param sqlMinVCores string

@description('Minutes without a session after which the database pauses. -1: never.')
param sqlAutoPauseMinutes int = 60

param sqlMaxSizeGB int = 32

@description('Use the monthly free amount of Azure SQL (100,000 vCore seconds, 32 GB). Usage beyond it is billed. Can only be set when the database is created.')
param sqlFreeOffer bool = false

@allowed(['Standard_LRS', 'Standard_ZRS', 'Standard_GRS', 'Standard_GZRS'])
param storageSku string = 'Standard_LRS'

param logRetentionDays int = 30

@description('Daily cap of telemetry in GB. When it is reached, ingestion stops until the next day. -1: no cap.')
param logDailyCapGB int = -1

@description('HIBP_MAIL: smtp://user:password@host:port?tls=starttls')
@secure()
param mail string

@description('HIBP_MAIL_FROM.')
param mailFrom string = ''

@description('HIBP_SECRET_KEY: 32 bytes in base64, or several such keys separated by commas. Without it, encrypted archives can\'t be loaded, and clients aren\'t called.')
@secure()
param secretKey string = ''

@description('HIBP_SUPPRESSION_KEY: 32 bytes or more in base64, under which suppressed addresses are recognized. Never change it, and keep a copy outside of Azure.')
@secure()
param suppressionKey string = ''

@description('HIBP_SERVICE_NAME.')
param serviceName string = ''

@description('HIBP_SERVICE_ADDRESS.')
param serviceAddress string = ''

@description('HIBP_SERVICE_CONTACT.')
param serviceContact string = ''

@description('HIBP_SERVICE_LOGO.')
param serviceLogo string = ''

@description('HIBP_UNSUBSCRIBE_MAILTO.')
param unsubscribeMailto string = ''

@description('HIBP_DKIM_DOMAIN: the domain that signs the mails.')
param dkimDomain string = ''

@description('HIBP_DKIM_SELECTOR: the name of the key in that domain.')
param dkimSelector string = ''

@description('HIBP_DKIM_KEY: the private key as PEM.')
@secure()
param dkimKey string = ''

@description('Recipient of alerts. Empty: alerts appear in the portal only.')
param alertEmail string = ''

@description('Whether to deploy the web app, which serves the API to callers with a key. It has its own identity, host storage account and plan.')
param web bool = true

@description('HIBP_WEB_URL: the public address of the API, https://HOST, from which links are made. Empty: the web app\'s own address.')
param webUrl string = ''

@description('HIBP_LINK_KEYS: one or more keys of at least 32 bytes in base64, separated by commas. Empty: no pages for people are served.')
@secure()
param linkKeys string = ''

@description('HIBP_TICKET_KEY: at least 32 bytes in base64. Set it with HIBP_LINK_KEYS, because the instances of a web app share it.')
@secure()
param ticketKey string = ''

@description('HIBP_COMMAND_KEY: 32 bytes in base64, with which the pipeline\'s app opens what people send. Set it with HIBP_COMMAND_PUBLIC_KEY, HIBP_LINK_KEYS and HIBP_SUPPRESSION_KEY. Empty: nobody can subscribe.')
@secure()
param commandKey string = ''

@description('HIBP_COMMAND_PUBLIC_KEY, with which the web app seals what people send: the public key of HIBP_COMMAND_KEY, as hibp keys generate makes it.')
param commandPublicKey string = ''

@description('HIBP_PROXIES. The host proxies requests and replaces X-Forwarded-For with the one address that it sees, regardless of proxies in front of it.')
@minValue(0)
@maxValue(16)
param webProxies int = 1

@description('Memory of an instance of the web app in MB. 512 comes with a quarter of a core, 2048 with one core, 4096 with two.')
@allowed([512, 2048, 4096])
param webInstanceMemoryMB int

@description('Maximum number of instances of the web app. Each instance counts the rate limits of keys separately.')
@minValue(1)
@maxValue(1000)
param webMaximumInstanceCount int

@description('Maximum number of concurrent requests per instance of the web app before another instance is started.')
@minValue(1)
@maxValue(1000)
param webConcurrency int

@description('Instances of the web app kept warm: [{ name: \'http\', instanceCount: 1 }]. They are billed while idle.')
param webAlwaysReady array = []

@description('Region of a second web app and of an account with a copy of Pwned Passwords, which that app reads first. It must offer Flex Consumption too. Empty: none.')
param secondLocation string = ''

@description('SKU of the second region\'s storage accounts. If their contents are lost, they can be copied or deployed again.')
@allowed(['Standard_LRS', 'Standard_ZRS', 'Standard_GRS', 'Standard_GZRS'])
param secondStorageSku string = 'Standard_LRS'

var suffix = uniqueString(resourceGroup().id)
var appName = '${name}-app-${suffix}'
var webAppName = '${name}-web-${suffix}'
// A second region has readers only. The pipeline and its data are in the first.
var hasSecond = web && !empty(secondLocation)
var secondWebAppName = '${name}-web2-${suffix}'
// Composed, not read from the web app's properties, so that the pipeline's app doesn't wait for the web app's
// deployment.
var webAddress = !empty(webUrl) ? webUrl : web ? 'https://${webAppName}.azurewebsites.net' : ''

// Dedupe caps by memory of an instance in MB. A load keeps the cap that it began with, so it must not begin
// with a cap that another instance can't hold: the cap is set here, not left to the program's default. It is
// at most 40% of the three quarters of the memory that the runtime uses in a container, as in the program. At
// 512 MB it is lower, because the host and the rest of an ingest (155 MB) leave no more. scale.sh has the
// same values.
var dedupeCaps = {
  '512': 2000000
  '2048': 25000000
  '4096': 50000000
}

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: '${name}-app'
  location: location
}

resource webIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = if (web) {
  name: '${name}-web'
  location: location
}

resource secondWebIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = if (hasSecond) {
  name: '${name}-web2'
  location: secondLocation
}

module storage 'modules/storage.bicep' = {
  name: '${name}-storage'
  params: {
    accountName: '${name}${suffix}'
    location: location
    sku: storageSku
    appPrincipalId: identity.properties.principalId
    webPrincipalId: web ? webIdentity!.properties.principalId : ''
    secondWebPrincipalId: hasSecond ? secondWebIdentity!.properties.principalId : ''
    operatorObjectId: operatorObjectId
    operatorType: operatorType
    dropperObjectId: dropperObjectId
    dropperType: dropperType
    hashesDropperObjectId: hashesDropperObjectId
    hashesDropperType: hashesDropperType
  }
}

module host 'modules/host.bicep' = {
  name: '${name}-host'
  params: {
    // A different hash, so that the names can't collide.
    accountName: '${take(name, 7)}host${uniqueString(resourceGroup().id, 'host')}'
    location: location
    sku: storageSku
    appPrincipalId: identity.properties.principalId
    hasTriggers: true
  }
}

// The web app has its own host account: write access to an app's package allows running code as that app, and
// the web app is public.
module webHost 'modules/host.bicep' = if (web) {
  name: '${name}-web-host'
  params: {
    accountName: '${take(name, 7)}webh${uniqueString(resourceGroup().id, 'web-host')}'
    location: location
    sku: storageSku
    appPrincipalId: webIdentity!.properties.principalId
    hasTriggers: false
  }
}

module secondWebHost 'modules/host.bicep' = if (hasSecond) {
  name: '${name}-web2-host'
  params: {
    accountName: '${take(name, 7)}web2${uniqueString(resourceGroup().id, 'web2-host')}'
    location: secondLocation
    sku: secondStorageSku
    appPrincipalId: secondWebIdentity!.properties.principalId
    hasTriggers: false
  }
}

module replica 'modules/replica.bicep' = if (hasSecond) {
  name: '${name}-replica'
  params: {
    accountName: '${take(name, 7)}repl${uniqueString(resourceGroup().id, 'replica')}'
    location: secondLocation
    sku: secondStorageSku
    webPrincipalId: secondWebIdentity!.properties.principalId
    operatorObjectId: operatorObjectId
    operatorType: operatorType
  }
}

module database 'modules/database.bicep' = {
  name: '${name}-database'
  params: {
    serverName: '${name}-sql-${suffix}'
    location: location
    adminName: sqlAdminName
    adminObjectId: sqlAdminObjectId
    adminType: sqlAdminType
    maxVCores: sqlMaxVCores
    minVCores: sqlMinVCores
    autoPauseMinutes: sqlAutoPauseMinutes
    maxSizeGB: sqlMaxSizeGB
    freeOffer: sqlFreeOffer
  }
}

module monitoring 'modules/monitoring.bicep' = {
  name: '${name}-monitoring'
  params: {
    name: name
    location: location
    retentionDays: logRetentionDays
    dailyCapGB: logDailyCapGB
    alertEmail: alertEmail
    appPrincipalId: identity.properties.principalId
    webPrincipalId: web ? webIdentity!.properties.principalId : ''
    secondWebPrincipalId: hasSecond ? secondWebIdentity!.properties.principalId : ''
  }
}

module app 'modules/app.bicep' = {
  name: '${name}-app'
  params: {
    appName: appName
    planName: '${name}-plan'
    location: location
    identityId: identity.id
    identityClientId: identity.properties.clientId
    hostStorageAccountName: host.outputs.accountName
    packageContainerUrl: host.outputs.packageContainerUrl
    storageAccountName: storage.outputs.accountName
    storageBlobEndpoint: storage.outputs.blobEndpoint
    storageQueueEndpoint: storage.outputs.queueEndpoint
    databaseConnection: database.outputs.connection
    appInsightsConnection: monitoring.outputs.connection
    instanceMemoryMB: instanceMemoryMB
    maximumInstanceCount: maximumInstanceCount
    alwaysReady: alwaysReady
    queueBatchSize: queueBatchSize
    transactionsInFlight: transactionsInFlight
    dedupeCap: dedupeCap > 0 ? dedupeCap : dedupeCaps[string(instanceMemoryMB)]
    notify: notify
    webUrl: webAddress
    mail: mail
    mailFrom: mailFrom
    secretKey: secretKey
    suppressionKey: suppressionKey
    linkKeys: linkKeys
    commandKey: commandKey
    serviceName: serviceName
    serviceAddress: serviceAddress
    serviceContact: serviceContact
    serviceLogo: serviceLogo
    unsubscribeMailto: unsubscribeMailto
    dkimDomain: dkimDomain
    dkimSelector: dkimSelector
    dkimKey: dkimKey
  }
}

module webApp 'modules/web.bicep' = if (web) {
  name: '${name}-web'
  params: {
    appName: webAppName
    planName: '${name}-web-plan'
    location: location
    identityId: webIdentity.id
    identityClientId: webIdentity!.properties.clientId
    hostStorageAccountName: webHost!.outputs.accountName
    packageContainerUrl: webHost!.outputs.packageContainerUrl
    storageAccountName: storage.outputs.accountName
    nearestAccountName: ''
    appInsightsConnection: monitoring.outputs.connection
    webUrl: webAddress
    serviceName: serviceName
    linkKeys: linkKeys
    ticketKey: ticketKey
    commandPublicKey: commandPublicKey
    proxies: webProxies
    instanceMemoryMB: webInstanceMemoryMB
    maximumInstanceCount: webMaximumInstanceCount
    concurrency: webConcurrency
    alwaysReady: webAlwaysReady
  }
}

// The second region's web app has the same package and sizes. Both apps make links from the one public address.
module secondWebApp 'modules/web.bicep' = if (hasSecond) {
  name: '${name}-web2'
  params: {
    appName: secondWebAppName
    planName: '${name}-web2-plan'
    location: secondLocation
    identityId: secondWebIdentity.id
    identityClientId: secondWebIdentity!.properties.clientId
    hostStorageAccountName: secondWebHost!.outputs.accountName
    packageContainerUrl: secondWebHost!.outputs.packageContainerUrl
    storageAccountName: storage.outputs.accountName
    nearestAccountName: replica!.outputs.accountName
    appInsightsConnection: monitoring.outputs.connection
    webUrl: webAddress
    serviceName: serviceName
    linkKeys: linkKeys
    ticketKey: ticketKey
    commandPublicKey: commandPublicKey
    proxies: webProxies
    instanceMemoryMB: webInstanceMemoryMB
    maximumInstanceCount: webMaximumInstanceCount
    concurrency: webConcurrency
    alwaysReady: webAlwaysReady
  }
}

output storageAccountName string = storage.outputs.accountName
output dropContainer string = storage.outputs.dropContainer
output appName string = app.outputs.appName
output appHost string = app.outputs.host
output identityName string = identity.name
output identityClientId string = identity.properties.clientId
output sqlServerName string = database.outputs.serverName
output sqlServerHost string = database.outputs.host
output sqlDatabaseName string = database.outputs.databaseName
output sqlConnection string = database.outputs.connection
output eventTopicName string = storage.outputs.eventTopicName
output undeliveredContainer string = storage.outputs.undeliveredContainer
output workbookId string = monitoring.outputs.workbookId
output webAppName string = web ? webAppName : ''
output webUrl string = webAddress
output secondWebAppName string = hasSecond ? secondWebAppName : ''
output secondWebUrl string = hasSecond ? 'https://${secondWebAppName}.azurewebsites.net' : ''
output replicaAccountName string = hasSecond ? replica!.outputs.accountName : ''
