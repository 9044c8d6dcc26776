// The web app on Flex Consumption: the API, an isolated worker with a package of its own. It signs in with an identity that reads what a lookup
// needs and writes nothing but its access log and passwords that are handed in, and has none of the pipeline's settings and secrets. No CORS of the platform's: the API says itself what browsers of other
// sites may read, and the platform's answers would take the place of its own.
param appName string
param planName string
param location string
param identityId string
param identityClientId string
param hostStorageAccountName string
param packageContainerUrl string
param storageAccountName string
@description('Account of Pwned Passwords in the app\'s own region; empty: they are read from the one of the breaches alone.')
param nearestAccountName string
param appInsightsConnection string
param webUrl string
param proxies int
param instanceMemoryMB int
param maximumInstanceCount int
param concurrency int
param alwaysReady array

var settings = {
  // The host's own account.
  AzureWebJobsStorage__accountName: hostStorageAccountName
  AzureWebJobsStorage__credential: 'managedidentity'
  AzureWebJobsStorage__clientId: identityClientId
  // An account asked about is in the path. So the host gets no Application Insights of its own, whose requests and dependencies hold paths; the app
  // sends its own telemetry, which holds routes. The rest says the same twice: host.json has it too, as periods in a setting's name may not arrive.
  HIBP_APPINSIGHTS: appInsightsConnection
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
  'AzureFunctionsJobHost__logging__logLevel__Host.Results': 'None'
  'AzureFunctionsJobHost__logging__logLevel__Function.Web': 'Warning'
  AzureFunctionsJobHost__logging__logLevel__Yarp: 'None'
  AzureFunctionsJobHost__logging__applicationInsights__enableDependencyTracking: 'false'
  // The host takes the platform's entry in X-Forwarded-For for the caller, and sends that one to the app.
  ASPNETCORE_FORWARDEDHEADERS_ENABLED: 'true'
  // The app. AZURE_CLIENT_ID tells Azure.Identity which identity is meant.
  AZURE_CLIENT_ID: identityClientId
  HIBP_STORAGE: storageAccountName
  HIBP_WEB_URL: webUrl
  HIBP_PROXIES: string(proxies)
}
var nearestSettings = empty(nearestAccountName) ? {} : { HIBP_PASSWORDS_NEAREST: nearestAccountName }

// Flex Consumption takes no more than one app a plan.
resource plan 'Microsoft.Web/serverfarms@2024-11-01' = {
  name: planName
  location: location
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
  }
}

resource app 'Microsoft.Web/sites@2024-11-01' = {
  name: appName
  location: location
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    siteConfig: {
      minTlsVersion: '1.2'
    }
    functionAppConfig: {
      runtime: {
        name: 'dotnet-isolated'
        version: '10.0'
      }
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packageContainerUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        alwaysReady: alwaysReady
        triggers: {
          http: {
            perInstanceConcurrency: concurrency
          }
        }
      }
    }
  }

  resource appSettings 'config' = {
    name: 'appsettings'
    properties: union(settings, nearestSettings)
  }

  // No publishing by password.
  resource ftp 'basicPublishingCredentialsPolicies' = {
    name: 'ftp'
    properties: {
      allow: false
    }
  }

  resource scm 'basicPublishingCredentialsPolicies' = {
    name: 'scm'
    properties: {
      allow: false
    }
  }
}
