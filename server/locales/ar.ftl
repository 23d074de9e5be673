# العربية. من اليمين إلى اليسار.

## تسجيل الدخول

sign-in-title = تسجيل الدخول
sign-in-app = يطلب { $app } استخدام حسابك.
sign-in-name = الاسم أو البريد الإلكتروني
sign-in-password = كلمة المرور
sign-in-show-password = إظهار كلمة المرور
sign-in-button = تسجيل الدخول
sign-in-wrong = الاسم أو كلمة المرور غير صحيحة. يُرجى التحقق منهما.
sign-in-wrong-address = إذا أنشأت حسابك هنا، فاستخدم اسم المستخدم بدلاً من عنوان البريد الإلكتروني.
sign-in-disabled = هذا الحساب معطّل. يُرجى التواصل مع القائمين على هذا الخادم.
sign-in-too-many =
    محاولات كثيرة جدًا. يُرجى المحاولة مرة أخرى بعد { $minutes ->
        [one] دقيقة واحدة
        [two] دقيقتين
        [few] { $minutes } دقائق
       *[other] { $minutes } دقيقة
    }.
sign-in-forgot = هل نسيت كلمة المرور؟
sign-in-forgot-ask = يستطيع القائمون على هذا الخادم منحك كلمة جديدة.
sign-in-sign-up = إنشاء حساب
languages = اللغة

## الموافقة

consent-title = السماح لتطبيق { $app } باستخدام حسابك؟
consent-operator-app = أضاف القائمون على هذا الخادم هذا التطبيق.
consent-local-app = يمكن لأي تطبيق استخدام هذا الاسم. لا تسمح إلا إذا فتحتَه بنفسك للتو على هذا الجهاز.
consent-account = حسابك
consent-switch = استخدام حساب آخر
consent-allows = سيتمكّن { $app } من:
consent-admin-allows = بصلاحياتك في إدارة هذا الخادم:
consent-then-host = بعد ذلك ستعود إلى { $host }.
consent-then-device = بعد ذلك ستعود إلى تطبيق على هذا الجهاز.
consent-then-code = بعد ذلك سيظهر لك رمز لإدخاله في { $app }.
consent-allow = السماح لتطبيق { $app } بالوصول
consent-deny = رفض

consent-all-read = الاطلاع على كل ما في حسابك
consent-all-write = تغيير كل ما في حسابك والتصرف باسمك
consent-all-both = الاطلاع على كل ما في حسابك وتغييره والتصرف باسمك
consent-matrix-both = استخدام حساب المحادثة كاملًا: قراءة الرسائل وإرسالها، وتغيير الغرف والأجهزة والإعدادات
consent-accounts-read = الاطلاع على معلومات حسابك
consent-accounts-write = تغيير ملفك الشخصي
consent-accounts-both = الاطلاع على معلومات حسابك وتغيير ملفك الشخصي
consent-blocks-read = الاطلاع على من تحظرهم
consent-blocks-write = حظر الأشخاص وإلغاء حظرهم
consent-blocks-both = الاطلاع على من تحظرهم وتغييرهم
consent-bookmarks-read = الاطلاع على إشاراتك المرجعية
consent-bookmarks-write = إضافة الإشارات المرجعية وإزالتها
consent-bookmarks-both = الاطلاع على إشاراتك المرجعية وتغييرها
consent-conversations-write = كتم المحادثات وحذفها
consent-favourites-read = الاطلاع على مفضلتك
consent-favourites-write = إضافة المفضلات وإزالتها
consent-favourites-both = الاطلاع على مفضلتك وتغييرها
consent-filters-read = الاطلاع على عوامل التصفية
consent-filters-write = تغيير عوامل التصفية
consent-filters-both = الاطلاع على عوامل التصفية وتغييرها
consent-follow-both = الاطلاع على من تتابعهم وتحظرهم وتكتمهم وتغييرهم
consent-follows-read = الاطلاع على من تتابعهم
consent-follows-write = متابعة الأشخاص وإلغاء متابعتهم
consent-follows-both = الاطلاع على من تتابعهم وتغييرهم
consent-lists-read = الاطلاع على قوائمك
consent-lists-write = تغيير قوائمك
consent-lists-both = الاطلاع على قوائمك وتغييرها
consent-media-write = رفع الصور والأصوات ومقاطع الفيديو
consent-mutes-read = الاطلاع على من تكتمهم
consent-mutes-write = كتم الأشخاص والمحادثات وإلغاء كتمها
consent-mutes-both = الاطلاع على من تكتمهم وتغييرهم
consent-notifications-read = الاطلاع على إشعاراتك وقواعدها
consent-notifications-write = مسح إشعاراتك وتغيير قواعدها
consent-notifications-both = الاطلاع على إشعاراتك ومسحها وتغيير قواعدها
consent-profile-read = الاطلاع على اسمك وملفك الشخصي
consent-push-both = إرسال الإشعارات الفورية إليك، والاطلاع على الرسائل التي تتضمنها، والاطلاع على قواعد الإشعارات وتغييرها
consent-reports-write = الإبلاغ عن الأشخاص والمنشورات باسمك
consent-search-read = البحث باسمك
consent-statuses-read = الاطلاع على المنشورات، ومنها الخاصة التي يمكنك رؤيتها
consent-statuses-write = نشر المنشورات وتعديلها وحذفها باسمك
consent-statuses-both = الاطلاع على المنشورات، ومنها الخاصة، ونشرها وتعديلها وحذفها باسمك

consent-admin-all-read = الاطلاع على كل ما لا يراه سوى الإدارة
consent-admin-all-write = تغيير كل ما لا يغيّره سوى الإدارة
consent-admin-all-both = الاطلاع على كل ما في هذا الخادم وتغييره
consent-admin-accounts-read = الاطلاع على جميع الحسابات ومعلوماتها الخاصة
consent-admin-accounts-write = الإشراف على الحسابات
consent-admin-accounts-both = الاطلاع على جميع الحسابات ومعلوماتها الخاصة والإشراف عليها
consent-admin-reports-read = الاطلاع على البلاغات
consent-admin-reports-write = معالجة البلاغات
consent-admin-reports-both = الاطلاع على البلاغات ومعالجتها
consent-admin-domain_allows-read = الاطلاع على الخوادم المسموح بها
consent-admin-domain_allows-write = تغيير الخوادم المسموح بها
consent-admin-domain_allows-both = الاطلاع على الخوادم المسموح بها وتغييرها
consent-admin-domain_blocks-read = الاطلاع على الخوادم المحظورة
consent-admin-domain_blocks-write = تغيير الخوادم المحظورة
consent-admin-domain_blocks-both = الاطلاع على الخوادم المحظورة وتغييرها
consent-admin-ip_blocks-read = الاطلاع على عناوين IP المحظورة
consent-admin-ip_blocks-write = تغيير عناوين IP المحظورة
consent-admin-ip_blocks-both = الاطلاع على عناوين IP المحظورة وتغييرها
consent-admin-email_domain_blocks-read = الاطلاع على مزوّدي البريد الإلكتروني المحظورين
consent-admin-email_domain_blocks-write = تغيير مزوّدي البريد الإلكتروني المحظورين
consent-admin-email_domain_blocks-both = الاطلاع على مزوّدي البريد الإلكتروني المحظورين وتغييرهم
consent-admin-canonical_email_blocks-read = الاطلاع على عناوين البريد الإلكتروني المحظورة
consent-admin-canonical_email_blocks-write = تغيير عناوين البريد الإلكتروني المحظورة
consent-admin-canonical_email_blocks-both = الاطلاع على عناوين البريد الإلكتروني المحظورة وتغييرها

## الرمز، للتطبيقات التي لا تستطيع استلامه بنفسها

code-title = رمزك لتطبيق { $app }
code-sentence = انسخ هذا الرمز وأدخله في { $app }.
code-label = الرمز
code-copy = نسخ
code-copied = تم النسخ
code-care = يصلح الرمز لمرة واحدة ولبضع دقائق فقط. لا تُظهره لأي شخص آخر.

## في طريق العودة إلى التطبيق

return-title = العودة إلى { $app }
return-sentence = جوابك في طريقه إلى { $app }. إذا لم يحدث شيء فاضغط على الزر.
return-button = المتابعة إلى { $app }

## حسابك

nav-overview = نظرة عامة
nav-notifications = الإشعارات
nav-devices = الأجهزة
nav-security = الأمان
nav-skip = الانتقال إلى المحتوى
notice-saved = تم الحفظ.
notice-keyword-muted = تم الحفظ. كانت هذه الكلمة من كلماتك المفتاحية، وهي الآن مكتومة ولم تعد كلمة مفتاحية.
notice-word-unmuted = تم الحفظ. كانت هذه الكلمة مكتومة، وهي الآن كلمة مفتاحية ولم تعد مكتومة.
notice-removed = تمت الإزالة.
notice-not-saved = لم يُحفظ شيء لأن جلستك كانت قد انتهت. يرجى المحاولة مرة أخرى.
notice-signed-out = انتهت جلستك في هذا المتصفح، ربما لأن كلمة مرورك تغيّرت أو لأن وقتًا طويلًا قد مضى. يرجى تسجيل الدخول مجددًا.
notice-app-removed = لم يعد بإمكان هذا التطبيق الوصول إلى حسابك.
pager-position = الصفحة { $page } من { $pages }
pager-previous = الصفحة السابقة
pager-next = الصفحة التالية
sign-out-button = تسجيل الخروج
email-change = تغيير البريد الإلكتروني
email-add = إضافة بريد إلكتروني
apps-title = التطبيقات المسموح لها بالوصول
apps-none = لا يوجد تطبيق يمكنه الوصول إلى حسابك.
apps-removal = يفقد التطبيق الذي تزيله إمكانية الوصول فورًا. يمكنك السماح له مجددًا لاحقًا.
apps-since = منذ { $time }
apps-remove = إزالة الوصول
apps-matrix = عملاء Matrix
apps-matrix-note = تطبيقات سجّلت الدخول فيها بكلمة مرورك.
apps-matrix-device-note = سجّلت الدخول هناك بكلمة مرورك.
apps-command-line = سطر الأوامر
apps-issued-note = أصدره القائمون على هذا الخادم.

## Notifications

notifications-pause = إيقاف كل شيء مؤقتًا
notifications-on = الإشعارات مفعّلة.
notifications-paused = كل شيء متوقف مؤقتًا إلى أن تفعّله من جديد.
notifications-paused-until = كل شيء متوقف مؤقتًا حتى { $time }.
notifications-pause-hour = إيقاف مؤقت لمدة ساعة
notifications-pause-8-hours = إيقاف مؤقت لمدة 8 ساعات
notifications-pause-morning = إيقاف مؤقت حتى الساعة 8:00 صباحًا
notifications-pause-open = إيقاف مؤقت إلى أن أفعّله من جديد
notifications-resume = تفعيل من جديد
notifications-utc = الأوقات في هذه الصفحة بالتوقيت العالمي UTC، وقد تختلف عن منطقتك الزمنية. ويشمل ذلك الساعة 8:00 صباحًا، لكنه لا يشمل ساعات الهدوء، فهي بالمنطقة الزمنية التي تختارها لها.
notifications-quiet-sentence = أوقات من الأسبوع تريد فيها الهدوء، مثل الليل.
notifications-quiet-off = ساعات الهدوء معطّلة.
notifications-quiet-later = ساعات الهدوء مفعّلة. لا هدوء في هذه اللحظة.
notifications-quiet-until = الهدوء مستمر حتى { $time }.
notifications-quiet-always = الهدوء دائم.
notifications-quiet-other-rule = الوقت الآن هادئ بسبب أوقات حدّدها تطبيق. النموذج أدناه لا يغيّرها.
notifications-quiet-custom = حدّد تطبيق أوقاتًا لا تستطيع هذه الصفحة عرضها. الحفظ يستبدلها.
notifications-quiet-days = تبدأ يوم
notifications-quiet-monday = الاثنين
notifications-quiet-tuesday = الثلاثاء
notifications-quiet-wednesday = الأربعاء
notifications-quiet-thursday = الخميس
notifications-quiet-friday = الجمعة
notifications-quiet-saturday = السبت
notifications-quiet-sunday = الأحد
notifications-quiet-from = من
notifications-quiet-to = إلى
notifications-quiet-to-hint = إذا لم يكن هذا الوقت بعد البداية، فهو في اليوم التالي.
notifications-quiet-zone = المنطقة الزمنية
notifications-quiet-zone-hint = مثل ‎Asia/Riyadh‎ أو UTC
notifications-quiet-level = ما درجة الهدوء؟
notifications-quiet-important = ما عدا الإشارات إليك والكلمات المفتاحية
notifications-quiet-important-hint = تبقى تصلك إشعارات عند ذكرك وعن الكلمات المفتاحية والدعوات، ومن الأشخاص والغرف التي اخترتها. أما المكالمات وكل الرسائل الأخرى فتبقى صامتة.
notifications-quiet-total = هدوء تام
notifications-quiet-total-hint = لا يصلك أي إشعار، حتى عند ذكرك.
notifications-quiet-end = تعطيل
notifications-devices = الأجهزة
notifications-all-devices = جميع الأجهزة
notifications-device = هذه الإعدادات للأجهزة ذات الملف { $profile }. وهي تسبق إعدادات جميع الأجهزة.
notifications-more-profiles = ملفات أجهزة أخرى غير معروضة هنا: { $count }.
notifications-keywords = الكلمات المفتاحية
notifications-keywords-sentence = تصلك إشعارات عن الرسائل التي تحتوي إحدى هذه الكلمات، إلا إذا احتوت كلمة مكتومة.
notifications-keywords-none = ليست لديك كلمات مفتاحية.
notifications-muted-words = الكلمات المكتومة
notifications-muted-words-sentence = تبقى الرسالة التي تحتوي كلمة مكتومة صامتة، إلا إذا ذكرتك أو ذكرت الجميع باستخدام ‎@room‎ أو احتوت اسمك المعروض.
notifications-muted-words-none = ليست لديك كلمات مكتومة.
notifications-mute-word = كتم كلمة
notifications-mute = كتم
notifications-word = الكلمة
notifications-word-hint = لا فرق بين الأحرف الكبيرة والصغيرة؛ الرمز * يعني أي أحرف، والرمز ? يعني حرفًا واحدًا.
notifications-sound = صوت
notifications-highlight = تمييز
notifications-add-keyword = إضافة كلمة مفتاحية
notifications-save = حفظ
notifications-remove = إزالة
notifications-subjects = الأشخاص والغرف
notifications-subjects-sentence = يبقى الشخص أو الغرفة المكتومة صامتة، إلا إذا ذكرتك رسالة أو ذكرت الجميع باستخدام ‎@room‎ أو احتوت اسمك المعروض أو اسم المستخدم الخاص بك أو إحدى كلماتك المفتاحية.
notifications-subjects-none = ليست لديك إعدادات لأشخاص أو غرف.
notifications-id = شخص أو غرفة
notifications-id-hint = معرّف شخص مثل ‎@name:server‎ أو معرّف غرفة مثل ‎!id:server‎. ويمكن أيضًا استخدام رابط من تطبيقك.
notifications-choice = الإشعارات
notifications-choice-hint = عند انتهاء المدة يُزال هذا الإدخال.
notifications-choice-notify = إشعار دائمًا
notifications-choice-mute = كتم إلى أن أغيّره
notifications-choice-mute-hour = كتم لمدة ساعة
notifications-choice-mute-8-hours = كتم لمدة 8 ساعات
notifications-choice-mute-day = كتم لمدة يوم
notifications-choice-mute-week = كتم لمدة أسبوع
notifications-add = إضافة
notifications-add-subject = إضافة شخص أو غرفة
notifications-people = الأشخاص
notifications-rooms = الغرف
notifications-off = معطّل
notifications-muted = مكتوم
notifications-silent = مكتوم، حتى عند ذكرك
notifications-notifies = إشعار دائمًا
notifications-until = حتى { $time }
notifications-switches = ما تصلك إشعارات عنه
notifications-switches-sentence = يسري هذا حيث لا ينطبق أي من إعداداتك.
notifications-messages = الرسائل
notifications-mentions = الإشارات إليك
notifications-calls = المكالمات والدعوات
notifications-rare = البرامج الآلية والتعديلات والتفاعلات وتغييرات الغرف
notifications-rare-sentence = تصلك إشعارات عن التفاعلات وتغييرات الغرف حتى في الغرف المكتومة.
notifications-switch-on = مفعّل
notifications-switch-partly = مفعّل جزئيًا
notifications-switch-off = معطّل
notifications-switch-one-to-one = أشعرني بالرسائل في الغرف التي فيها شخص واحد غيري
notifications-switch-group = أشعرني بالرسائل في كل الغرف الأخرى
notifications-switch-bots = أشعرني برسائل البرامج الآلية
notifications-switch-edits = أشعرني عند تعديل رسالة
notifications-switch-reactions = أشعرني بالتفاعلات
notifications-switch-mention = أشعرني عندما يذكرني أحد
notifications-switch-display-name = أشعرني عندما تحتوي رسالة على اسمي المعروض
notifications-switch-user-name = أشعرني عندما تحتوي رسالة على اسم المستخدم الخاص بي
notifications-switch-room-mention = أشعرني عندما يذكر أحد كل من في الغرفة باستخدام ‎@room‎
notifications-switch-call = أشعرني عندما يتصل بي أحد
notifications-switch-invitation = أشعرني عندما يدعوني أحد إلى غرفة
notifications-switch-upgrade = أشعرني عندما تُستبدل غرفة بأخرى جديدة
notifications-switch-members = أشعرني عندما ينضم أشخاص أو يغادرون أو يغيّرون أسماءهم
notifications-switch-servers = أشعرني عندما تتغير الخوادم المسموح لها بالمشاركة في غرفة
notifications-error-word-blank = يرجى إدخال كلمة.
notifications-error-word-too-long = هذه الكلمة طويلة جدًا. يرجى إدخال كلمة أقصر.
notifications-error-id-blank = يرجى إدخال معرّف شخص أو غرفة.
notifications-error-id-too-long = هذا أطول من أن يكون معرّفًا. يرجى التحقق منه.
notifications-error-room-alias = هذا عنوان غرفة وليس معرّفها. يبدأ المعرّف بالرمز ! ويعرضه تطبيقك في إعدادات الغرفة.
notifications-error-person-without-server = الخادم ناقص. يبدو معرّف الشخص هكذا: ‎@name:server‎
notifications-error-id-invalid = هذا ليس معرّفًا. معرّف الشخص مثل ‎@name:server‎ ومعرّف الغرفة مثل ‎!id:server‎.
notifications-error-text-blank = يرجى إدخال رسالة.
notifications-error-quiet-days-missing = يرجى اختيار يوم واحد على الأقل.
notifications-error-quiet-time-invalid = يرجى إدخال وقتين، مثل 22:00 و07:00.
notifications-error-quiet-zone-unknown = لا يعرف هذا الخادم هذه المنطقة الزمنية. المنطقة الزمنية مثل ‎Asia/Riyadh‎.
notifications-error-quiet-changed = تغيّرت ساعات الهدوء في هذه الأثناء، ربما في علامة تبويب أخرى أو تطبيق. لم يُحفظ أي شيء. تراها هنا كما هي الآن.
notifications-error-too-many = لديك أقصى عدد من القواعد يسمح به هذا الخادم ({ $count }). يرجى إزالة بعضها أولًا.
notifications-error-too-large = تشغل قواعدك كل المساحة التي يسمح بها هذا الخادم. يرجى إزالة بعضها أولًا.
notifications-error-changed = تغيّر { $name } في هذه الأثناء، ربما في علامة تبويب أخرى أو تطبيق. لم يُحفظ شيء. تراه هنا كما هو الآن.
notifications-error-removed = أُزيل { $name } في هذه الأثناء، ربما في علامة تبويب أخرى أو تطبيق. لم يُحفظ شيء.
notifications-error-other = تعذّر الحفظ. يرجى التحقق مما أدخلته.

## Devices

devices-intro = التطبيقات والمتصفحات التي تتلقى إشعاراتك.
devices-off = هذا الخادم لا يرسل إشعارات إلى الأجهزة.
devices-none = لا يوجد جهاز يتلقى إشعاراتك بعد. سجّل الدخول في تطبيق على جهاز وفعّل الإشعارات فيه، وعندها يظهر الجهاز هنا.
devices-mastodon = تطبيق Mastodon، عبر { $host }
devices-gateway = تطبيق Matrix، عبر البوابة { $host }
devices-web-push = تطبيق Matrix، عبر { $host }
devices-waiting = بانتظار تأكيد التطبيق
devices-disabled = متوقف في التطبيق
devices-delivered = آخر تسليم: { $time }
devices-failed = فشلت آخر محاولة: { $time }
devices-test = إرسال تجربة
devices-test-body = تصل الإشعارات إلى هذا الجهاز.
devices-error-unreachable = يتعذر الوصول إلى خدمة الإشعارات.
devices-error-timeout = لم تستجب خدمة الإشعارات في الوقت المحدد.
devices-error-denied = لا تقبل خدمة الإشعارات رسائل من هذا الخادم.
devices-error-busy = خدمة الإشعارات مزدحمة وتطلب من هذا الخادم الانتظار.
devices-error-rejected = رفضت خدمة الإشعارات الرسالة (الحالة { $status }).
devices-error-status = أبلغت خدمة الإشعارات عن خطأ (الحالة { $status }).
devices-error-gone = لم تعد خدمة الإشعارات تعرف هذا الجهاز.
devices-error-other = تعذر إرسال الرسالة.
deliveries-title = آخر عمليات التسليم
deliveries-tests = آخر التجارب
deliveries-test = تجربة
deliveries-ack = طلب تأكيد الجهاز
deliveries-counts = الرقم على أيقونة التطبيق
deliveries-other = إشعار
deliveries-former-device = جهاز لم يعد في القائمة
deliveries-waiting = في الانتظار منذ { $time }
deliveries-next = المحاولة التالية: { $time }
deliveries-delivered = تم التسليم: { $time }
deliveries-dropped = لم يتم التسليم: { $time }
deliveries-expired = لم يتم التسليم في الوقت المناسب: { $time }
deliveries-removed = لم يتم التسليم لأن الجهاز أُزيل: { $time }
deliveries-read = لم يعد ضروريًا لأنه قُرئ في مكان آخر: { $time }
deliveries-replaced = حل محله إشعار أحدث: { $time }

## Rules of apps, and titles of rules

notifications-rules = قواعد التطبيقات
notifications-rules-sentence = أنشأت التطبيقات هذه القواعد، ولا يمكن للإعدادات أعلاه عرضها.
rules-about-word = الرسائل التي تحتوي الكلمة { $word }
rules-about-room = الرسائل في الغرفة { $room }
rules-about-sender = الرسائل من { $sender }
rules-about-other = قاعدة بشروط خاصة بها
rules-about-quiet-hours = ساعات الهدوء
rules-about-suppress-notices = رسائل البرامج الآلية
rules-about-invite-for-me = الدعوات إلى الغرف
rules-about-member-event = أشخاص ينضمون أو يغادرون أو يغيّرون أسماءهم
rules-about-is-user-mention = الرسائل التي تذكرك
rules-about-contains-display-name = الرسائل التي تحتوي على اسمك المعروض
rules-about-is-room-mention = الرسائل التي تذكر كل من في الغرفة
rules-about-roomnotif = الرسائل التي في نصها ‎@room‎
rules-about-tombstone = الغرف التي تُستبدل بأخرى جديدة
rules-about-reaction = التفاعلات
rules-about-room-server-acl = تغيّر الخوادم المسموح لها بالمشاركة في غرفة
rules-about-suppress-edits = تعديلات الرسائل
rules-about-contains-user-name = الرسائل التي تحتوي على اسم المستخدم الخاص بك
rules-about-call = المكالمات
rules-about-encrypted-room-one-to-one = الرسائل المشفّرة في الغرف التي فيها شخص واحد غيرك
rules-about-room-one-to-one = الرسائل في الغرف التي فيها شخص واحد غيرك
rules-about-message = الرسائل في كل الغرف الأخرى
rules-about-encrypted = الرسائل المشفّرة في كل الغرف الأخرى
rules-notify = إشعار
rules-silent = صامت
rules-delete = حذف
rules-delete-effect = لا يمكن استعادة قاعدة محذوفة.

## Try a message

try-title = تجربة رسالة
try-intro = اطّلع على ما تفعله قواعدك برسالة. لا يُرسل شيء ولا يُحفظ.
try-text = الرسالة
try-sender = من
try-sender-hint = اختياري: اسم على هذا الخادم أو معرّف مثل ‎@name:server‎.
try-chat = أين
try-group = في مجموعة
try-direct = في محادثة معك وحدك
try-button = تجربة
try-notify = سيصلك إشعار، { $reason }.
try-sound = سيصلك إشعار مع صوت، { $reason }.
try-silent = لن يصلك إشعار، { $reason }.
try-because-own = لأنها رسالتك أنت
try-because-no-rule = لأنه لا تنطبق أي قاعدة
try-because-paused = لأن كل شيء متوقف مؤقتًا
try-because-quiet = لأن هذه ساعات هدوء
try-because-switched-on = لأن «{ $name }» مفعّل
try-because-switched-off = لأنك عطّلت «{ $name }»
try-because-keyword = بسبب كلمتك المفتاحية { $name }
try-because-muted-word = لأنك كتمت الكلمة { $name }
try-because-sender = بسبب قاعدتك لـ { $name }
try-because-muted-sender = لأنك كتمت { $name }
try-because-rule = بسبب قاعدتك { $name }

## Security

deletion-pending = سيُحذف حسابك: { $time }.
deletion-keep = الاحتفاظ بحسابي
password-effect = كلمة المرور الجديدة تُسجّل خروج كل المتصفحات الأخرى وكل التطبيقات. وتبقى مسجّل الدخول هنا.
password-current = كلمة المرور الحالية
password-new = كلمة المرور الجديدة
password-again = كلمة المرور الجديدة مرة أخرى
password-button = تغيير كلمة المرور
password-wrong = هذه ليست كلمة مرورك.
password-hint = الحد الأدنى لعدد الأحرف: { $count }، ولا تُقبل كلمة مرور شائعة
password-different = كلمتا المرور غير متطابقتين.
email-verified = يمكنك تسجيل الدخول بهذا العنوان. بعد تغييره تسجّل الدخول باسم المستخدم فقط.
sessions-title = أين سجّلت الدخول
sessions-this = هذا المتصفح
sessions-browser = { $browser } على { $system }
sessions-unknown = متصفح غير معروف
sessions-since = سُجّل الدخول في { $time }
sessions-more = متصفحات أخرى
sessions-others = تسجيل الخروج من كل مكان آخر
used-recently = استُخدم خلال الساعة الأخيرة
used-hours =
    آخر استخدام قبل { $count ->
        [one] ساعة واحدة
        [two] ساعتين
        [few] { $count } ساعات
       *[other] { $count } ساعة
    }
used-days =
    آخر استخدام قبل { $count ->
        [one] يوم واحد
        [two] يومين
        [few] { $count } أيام
       *[other] { $count } يومًا
    }
used-never = لم يُستخدم بعد
tokens-count =
    { $count ->
        [one] تسجيل دخول واحد
        [two] تسجيلا دخول
        [few] { $count } عمليات تسجيل دخول
       *[other] { $count } عملية تسجيل دخول
    }
only-last-used =
    { $count ->
        [one] يظهر هنا آخر ما استُخدم فقط.
        [two] يظهر هنا آخر اثنين استُخدما فقط.
        [few] تظهر هنا آخر { $count } استُخدمت فقط.
       *[other] يظهر هنا آخر { $count } استُخدم فقط.
    }
data-title = بياناتك
data-content = ملف واحد فيه حسابك وتطبيقاتك وجلساتك وأجهزتك وقواعد إشعاراتك وسجل ما حدث لحسابك. لا يحتوي على كلمات مرور.
data-button = تنزيل بياناتي
delete-title = حذف حسابك
delete-effect = يُحذف حسابك بعد يوم واحد، مع تطبيقاته وقواعد إشعاراته. وحتى ذلك الحين يمكنك تغيير رأيك. ولن يستطيع غيرك التسجيل باسمك.
delete-button = حذف حسابي
delete-last-admin = أنت المدير الوحيد لهذا الخادم. اجعل شخصًا آخر مديرًا أولًا.
notice-token-revoked = سُجّل خروج التطبيق من هناك.
notice-password-changed = تغيّرت كلمة مرورك. سُجّل خروج كل المتصفحات الأخرى وكل التطبيقات.
notice-email-changed = تم تحديث بريدك الإلكتروني.
notice-session-ended = سُجّل خروج المتصفح الآخر.
notice-sessions-ended = سُجّل خروج كل المتصفحات الأخرى.
notice-deletion-cancelled = حسابك باقٍ.
notice-test-sent = رسالة التجربة في طريقها. تعرض القائمة أدناه ما إذا كانت قد وصلت؛ أعد تحميل الصفحة لتحديثها.
notice-test-not-sent = لم تُرسل رسالة تجربة: الجهاز لا يتلقى رسائل الآن، أو أن رسائل كثيرة جدًا تنتظره.

## Sign up

sign-up-name = اسم المستخدم
sign-up-name-hint = أحرف لاتينية صغيرة من a إلى z وأرقام وشرطات سفلية، وفي الوسط أيضًا نقاط وشرطات. لا يمكن تغييره لاحقًا.
sign-up-email = البريد الإلكتروني
sign-up-email-hint = اختياري. يستطيع القائمون على هذا الخادم التواصل معك عبره. تسجّل الدخول باسم المستخدم.
sign-up-again = كلمة المرور مرة أخرى
sign-up-agreement = سألتزم بقواعد هذا الخادم.
sign-up-rules = قراءة القواعد
sign-up-button = إنشاء حسابي
field-username-blank = يُرجى اختيار اسم مستخدم.
field-username-name-invalid = يُرجى استخدام الأحرف اللاتينية الصغيرة من a إلى z والأرقام والشرطات السفلية فقط. يمكن أن تكون النقاط والشرطات في الوسط.
field-username-too-long = يُرجى اختيار اسم مستخدم لا يتجاوز طوله { $count }.
field-username-reserved = اسم المستخدم هذا محجوز. يُرجى اختيار اسم آخر.
field-username-taken = اسم المستخدم هذا مأخوذ. يُرجى اختيار اسم آخر.
field-email-email-invalid = يُرجى التحقق من العنوان. يجب أن يشبه name@example.org
field-email-too-long = يُرجى إدخال عنوان لا يتجاوز طوله { $count }.
field-password-blank = يُرجى اختيار كلمة مرور.
field-password-too-short = يُرجى اختيار كلمة مرور لا يقل طولها عن { $count }.
field-password-too-long = يُرجى اختيار كلمة مرور لا يتجاوز طولها { $count }.
field-password-password-common = من السهل تخمين كلمة المرور هذه. يُرجى اختيار كلمة أخرى.
field-agreement-not-accepted = يُرجى الموافقة على قواعد هذا الخادم.
sign-up-sign-in = لديّ حساب بالفعل
registration-closed-title = لا حسابات جديدة
registration-closed-sentence = لا يقبل هذا الخادم حسابات جديدة.
registration-closed-advice = يُرجى سؤال القائمين عليه.

## Front page

front-title = مرحبًا بك
front-sentence = هنا تقرّر أي التطبيقات يمكنها استخدام حسابك، وأي الرسائل تُشعرك.
front-signed-in = تم تسجيل دخولك باسم { $account }.
front-account = الانتقال إلى حسابك
front-developers = للمطوّرين
front-developers-sentence = تتصل التطبيقات بهذا الخادم عبر OAuth 2.0 وواجهتي Mastodon وMatrix البرمجيتين.
front-api = وصف الواجهة البرمجية (OpenAPI)
front-documentation = التوثيق

## تسجيل الخروج

signed-out-title = تم تسجيل خروجك
signed-out-sentence = يمكنك إغلاق هذه الصفحة.
signed-out-button = تسجيل الدخول مجددًا

## ما قد يحدث من أخطاء

invalid-request-title = لا يمكن الرد على هذا الطلب
invalid-request-advice = عُد إلى التطبيق وحاول مرة أخرى. إذا تكرر ذلك فيُرجى إبلاغ مطوّري التطبيق.
malformed-sentence = تعذّر على هذا الخادم قراءة ما أُرسِل.
app-error-unknown = لا يعرف هذا الخادم التطبيق الذي أرسلك إلى هنا، أو لم يعد يسمح به.
app-error-redirect-uri = يريد التطبيق إرسالك إلى عنوان لم يسجّله هنا.
app-error-scope = يطلب التطبيق أذونات لا يمكنه الحصول عليها هنا.
app-error-request = طلب التطبيق ناقص أو خاطئ.
app-error-details = لمطوّري التطبيق:
denied-title = رُفض الوصول
denied-sentence = لم يحصل التطبيق على الوصول، ولم تتم مشاركة أي شيء يخصك.
denied-advice = يمكنك إغلاق هذه الصفحة.
expired-title = لم يعد هذا الطلب قائمًا
expired-sentence = تم الرد عليه من قبل، أو مضى عليه وقت طويل.
expired-advice = عُد إلى التطبيق وابدأ من جديد.
forged-form-title = تعذّر التحقق من هذا النموذج
forged-form-sentence = ربما سجّلت الدخول أو الخروج في علامة تبويب أخرى، أو لم يرسل متصفحك ملف تعريف الارتباط الخاص بهذا الخادم.
forged-form-advice = اسمح بملفات تعريف الارتباط لهذا الخادم، ثم ارجع وحاول مرة أخرى.
rate-limited-title = طلبات كثيرة جدًا
rate-limited-sentence = تلقّى هذا الخادم منك طلبات كثيرة جدًا في وقت قصير.
rate-limited-advice =
    يُرجى المحاولة مرة أخرى بعد { $minutes ->
        [one] دقيقة واحدة
        [two] دقيقتين
        [few] { $minutes } دقائق
       *[other] { $minutes } دقيقة
    }.
internal-title = حدث خطأ هنا
internal-sentence = الخطأ من هذا الخادم وليس منك، وقد تم تسجيله.
internal-advice = يُرجى المحاولة مرة أخرى بعد قليل.
busy-title = هذا الخادم مشغول
busy-sentence = لا يمكنه الرد الآن. لم يكن في طلبك خطأ.
busy-advice = يُرجى المحاولة مرة أخرى بعد قليل.
not-found-title = الصفحة غير موجودة
not-found-sentence = لا يوجد شيء في هذا العنوان.
not-found-advice = يُرجى التحقق من العنوان أو العودة إلى التطبيق الذي أتيت منه.

## أخطاء التسجيل

validation-failed = فشل التحقق: { $errors }
validation-list = { $errors }، { $error }

app-name-blank = لا يمكن أن يكون اسم التطبيق فارغًا
app-name-invalid = اسم التطبيق غير صالح
app-name-too-long =
    اسم التطبيق طويل جدًا (الحد الأقصى { $count ->
        [few] { $count } أحرف
        [many] { $count } حرفًا
       *[other] { $count } حرف
    })
app-redirect-uri-blank = لا يمكن أن يكون عنوان إعادة التوجيه فارغًا
app-redirect-uri-forbidden = عنوان إعادة التوجيه محظور على هذا الخادم.
app-redirect-uri-invalid = يجب أن يكون عنوان إعادة التوجيه عنوان URI صالحًا.
app-redirect-uri-relative = يجب أن يكون عنوان إعادة التوجيه عنوان URI مطلقًا.
app-redirect-uri-opaque = يجب أن يحدد عنوان إعادة التوجيه مخططًا.
app-redirect-uri-fragment = لا يمكن أن يحتوي عنوان إعادة التوجيه على جزء بعد العلامة #.
app-redirect-uri-user-info = لا يمكن أن يحتوي عنوان إعادة التوجيه على اسم مستخدم أو كلمة مرور.
app-redirect-uri-wildcard = لا يمكن أن يحتوي عنوان إعادة التوجيه على محرف بدل.
app-redirect-uri-insecure = يجب أن يكون عنوان إعادة التوجيه عنوان HTTPS (لا يُسمح بـ http إلا لـ localhost).
app-redirect-uri-too-long =
    عنوان إعادة التوجيه طويل جدًا (الحد الأقصى { $count ->
        [few] { $count } أحرف
        [many] { $count } حرفًا
       *[other] { $count } حرف
    })
app-scopes = الصلاحيات لا تطابق تلك المعروفة لدى الخادم.
app-unknown-scope = الصلاحيات لا تطابق تلك المعروفة لدى الخادم: { $scope } غير معروفة (scopes_supported, /.well-known/oauth-authorization-server).
app-website-invalid = موقع التطبيق ليس عنوان URL صالحًا
app-website-too-long =
    عنوان موقع التطبيق طويل جدًا (الحد الأقصى { $count ->
        [few] { $count } أحرف
        [many] { $count } حرفًا
       *[other] { $count } حرف
    })
app-auth-method = يجب أن تكون طريقة مصادقة التطبيق (token_endpoint_auth_method) هي client_secret_basic أو client_secret_post (التطبيقات العامة بلا سر غير مدعومة: سجّل كل تثبيت للتطبيق ليحصل على سره الخاص)

account-error = { $field }: { $error }
account-field-username = اسم المستخدم
account-field-email = البريد الإلكتروني
account-field-password = كلمة المرور
account-field-agreement = اتفاقية الخدمة
account-blank = لا يمكن ترك هذا الحقل فارغًا
account-name-invalid = لا يُسمح إلا بالأحرف اللاتينية الصغيرة والأرقام والشرطات السفلية، وبالنقاط والشرطات في الداخل فقط
account-email-invalid = هذا ليس عنوان بريد إلكتروني صالحًا
account-too-long =
    أطول من اللازم (الحد الأقصى { $count ->
        [few] { $count } أحرف
        [many] { $count } حرفًا
       *[other] { $count } حرف
    })
account-too-short =
    أقصر من اللازم (الحد الأدنى { $count ->
        [few] { $count } أحرف
        [many] { $count } حرفًا
       *[other] { $count } حرف
    })
account-password-common = من السهل تخمين هذه القيمة؛ اختر قيمة أخرى
account-reserved = هذه القيمة محجوزة
account-taken = هذه القيمة مستخدمة بالفعل
account-not-accepted = الموافقة مطلوبة
